/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the names that krait gives to processes. In the command lines below, '|' stands for NUL. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "proc/proc.h"

static const struct {
	const char *cmdline, *exe, *name;
} cases[] = {
	{"python3|app.py|", "/usr/bin/python3.13", "app.py"},
	{"python3|app.py", "/usr/bin/python3.13", "app.py"},
	{"python3|-u|/srv/my app/app.py|--port|80|", "/usr/bin/python3.13", "app.py"},
	{"/opt/venv/bin/python|-m|http.server|8000|", NULL, "http.server"},
	{"python3|-Im|pytest|-x|", NULL, "pytest"},
	{"python3|-mjson.tool|", NULL, "json.tool"},
	{"python3|-W|ignore|-X|dev|-B|run.py|", NULL, "run.py"},
	{"python3|-Wignore|-Xdev|-OO|run.py|", NULL, "run.py"},
	{"python3|-bbW|error|run.py|", NULL, "run.py"},
	{"python3|--check-hash-based-pycs|never|x.py|", NULL, "x.py"},
	{"pypy3|--jit|off|x.py|", NULL, "x.py"},
	{"python3|--|-x.py|", NULL, "-x.py"},
	{"python2.7|-Q|new|x.py|", NULL, "x.py"},
	{"/usr/bin/python3|/usr/bin/gunicorn|wsgi:app|", NULL, "gunicorn"},
	{"python3|-c|print(1)|", NULL, "python3 -c"},
	{"python3.13t|-Ic|print(1)|", NULL, "python3.13t -c"},
	/* commands of multiprocessing's children: spawn, forkserver, resource_tracker */
	{"python3|-c|from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5, "
	 "pipe_handle=7)|--multiprocessing-fork|",
	 NULL, "multiprocessing.spawn"},
	{"python3|-B|-c|from multiprocessing.forkserver import main; main(8, 9, ['__main__'])|",
	 NULL, "multiprocessing.forkserver"},
	{"python3|-c|import sys; from multiprocessing.forkserver import main; main(8, 9)|", NULL,
	 "multiprocessing.forkserver"},
	{"python3|-c|import sys; from urllib.parse import quote|", NULL, "python3 -c"},
	{"python3|-c|from multiprocessing.resource_tracker import main;main(5)|", NULL,
	 "multiprocessing.resource_tracker"},
	{"python3|-c|from multiprocessing.spa", NULL, "python3 -c"},
	{"python3|-c|from multiprocessing", NULL, "python3 -c"},
	{"/usr/bin/python3-dbg|x.py|", NULL, "x.py"},
	{"pypy3|x.py|", NULL, "x.py"},
	{"python3|", NULL, "python3"},
	{"/usr/bin/python3|-i|", NULL, "python3"},
	{"python3|-|", NULL, "python3"},
	{"python3|-m|", NULL, "python3"},
	{"python3|-X|", NULL, "python3"},
	{"python3||", NULL, "python3"},
	{"python3|srv/web/__main__.py|", NULL, "web"},
	{"python3|/__main__.py|", NULL, "__main__.py"},
	{"python3|__main__.py|", NULL, "__main__.py"},
	{"python3|tool.pyz|", NULL, "tool.pyz"},
	{"python3|dir/|", NULL, "dir"},
	/* argv[0] isn't an interpreter's name, but the executable is an interpreter */
	{"worker|app.py|", "/usr/bin/python3.11", "app.py"},
	{"x|-m|mod|", "/usr/bin/python3.11 (deleted)", "mod"},
	{"-python3|app.py|", NULL, "app.py"},
	/* process titles that the package setproctitle sets */
	{"gunicorn: worker [app]||||", "/usr/bin/python3.11", "gunicorn"},
	{"[celeryd: celery@host:MainProcess]|", "/usr/bin/python3.11", "celeryd"},
	{"[celeryd]|", "/usr/bin/python3.11", "celeryd"},
	/* mod_wsgi and mod_wsgi-express write display-name=%{GROUP} over Apache's argv[0] */
	{"(wsgi:shop)      |-k|start|", "/usr/sbin/apache2", "wsgi:shop"},
	{"(wsgi:admin)|", "/usr/sbin/httpd", "wsgi:admin"},
	{"(wsgi:localhost:8000:1000)|", "/usr/sbin/httpd", "wsgi:localhost:8000:1000"},
	{"(wsgi:warehouse-|-k|start|", "/usr/sbin/apache2", "wsgi:warehouse-"},
	{"(wsgi:shop)|", "/usr/bin/python3.11", "wsgi:shop"},
	{"(x)/bin/tool|", "/srv/(x)/bin/tool", "tool"},
	{"()|", "/usr/sbin/httpd", "()"},
	{"(|", "/usr/sbin/httpd", "("},
	/* programs that embed Python */
	{"/opt/host/embedder|--x|", "/opt/host/embedder", "embedder"},
	{"uwsgi|--ini|x|", "/usr/bin/uwsgi", "uwsgi"},
	{"pythonic-tool|a|", "/usr/bin/pythonic-tool", "pythonic-tool"},
	{"nginx: master process /usr/sbin/nginx|", "/usr/sbin/nginx", "nginx"},
	{"/usr/sbin/sshd: x|", "/usr/sbin/sshd", "sshd: x"},
	/* the command line contains no name, so the kernel's name is used */
	{"", NULL, "kworker/0:1"},
	{"|", NULL, "kworker/0:1"},
	{"||||", "/usr/bin/python3", "kworker/0:1"},
	/* hostile arguments */
	{"python3|a\nb\x1b[31m.py|", NULL, "a?b?[31m.py"},
	{"////|", NULL, "/"},
	{"python3|////|", NULL, "/"},
	{"python3|\xff\xfe|", NULL, "\xff\xfe"},
	{":|", NULL, ":"},
};

static void test_names(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_str_ struct str name = {};
		size_t n = strlen(cases[i].cmdline);
		/* a buffer of exactly the text's size, so that ASan catches a read past its end */
		_cleanup_free_ char *line = malloc(n ? n : 1);

		for (size_t k = 0; k < n; k++)
			line[k] = cases[i].cmdline[k] == '|' ? '\0' : cases[i].cmdline[k];
		proc_name_from(line, n, cases[i].exe, "kworker/0:1", &name);
		if (!streq(str_cstr(&name), cases[i].name))
			fail_msg("%s: %s, not %s", cases[i].cmdline, str_cstr(&name),
				 cases[i].name);
	}
}

/*
 * The command line alone decides the name only if it is complete and starts with an interpreter. A
 * command line that fills its buffer may be cut off.
 */
static void test_is_said(void **state)
{
	char args[64] = "/usr/bin/python3\0-u\0app.py";

	assert_true(proc_name_is_said(args, sizeof(args)));
	assert_true(proc_name_is_said(args, sizeof("/usr/bin/python3\0-u\0app.py")));
	assert_false(proc_name_is_said(args, sizeof("/usr/bin/python3\0-u\0app.py") - 1));
	assert_false(proc_name_is_said("gunicorn: worker [app]", sizeof("gunicorn: worker [app]")));
	assert_false(proc_name_is_said("/opt/host/embedder", sizeof("/opt/host/embedder")));
	assert_false(proc_name_is_said("", 1));
	assert_false(proc_name_is_said("", 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
