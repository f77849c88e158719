/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The smallest program with Python in it: libpython is a start-up dependency and the
 * executable's name says nothing. Declared by hand, so that it needs no Python headers.
 */
extern int Py_BytesMain(int argc, char **argv); /* only 3.8 and later have this function */

int main(int argc, char **argv)
{
	return Py_BytesMain(argc, argv);
}
