/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stripped libraries whose symbols are in other files, made with gcc, objcopy and xz as
 * distributions do. The right names come from nm, before the library was stripped.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define MADE_DIR "/tmp/krait-debug-XXXXXX"
#include "made_files.h"

#include "base/cleanup.h"
#include "symbol/elf/elf_names.h"

/* makes the files; root/ stands for the target's "/" */
static const char make_files[] =
	"set -e; exec 2>/dev/null; mkdir -p root/srv root/usr/lib/debug/srv\n"
	"printf '%s\\n' 'static __attribute__((noinline)) int hidden(int x) { return x * 3 + 1; }'"
	" 'int shown(int x) { return hidden(x) ^ 5; }' > lib.c\n"
	"printf 'int other(void) { return 1; }\\n' > other.c\n"
	"gcc -O1 -g -shared -fPIC -Wl,--build-id -o lib.so lib.c\n"
	"gcc -O1 -g -shared -fPIC -Wl,--build-id=none -o noid.so lib.c\n"
	"gcc -O1 -g -shared -fPIC -Wl,--build-id -o other.so other.c\n"
	"for l in lib noid other; do objcopy --only-keep-debug $l.so $l.debug; done\n"
	"strip -o root/srv/lib.so lib.so\n"
	"objcopy --strip-all --add-gnu-debuglink=noid.debug noid.so root/srv/noid.so\n"
	/*
	 * makes a section with MiniDebugInfo as described in
	 * https://sourceware.org/gdb/current/onlinedocs/gdb.html/MiniDebugInfo.html
	 */
	"echo hidden > keep; objcopy -S --remove-section .comment --keep-symbols=keep lib.debug "
	"mini\n"
	"xz -c mini > mini.xz\n"
	"objcopy --add-section .gnu_debugdata=mini.xz root/srv/lib.so root/srv/mini.so\n"
	"head -c 300 mini.xz > cut.xz\n"
	"objcopy --add-section .gnu_debugdata=cut.xz root/srv/lib.so root/srv/cut.so\n"
	"xz -c lib.c > text.xz\n"
	"objcopy --add-section .gnu_debugdata=text.xz root/srv/lib.so root/srv/text.so\n"
	"head -c 140000000 /dev/zero | xz -0c > bomb.xz\n"
	"objcopy --add-section .gnu_debugdata=bomb.xz root/srv/lib.so root/srv/bomb.so\n"
	"readelf -n lib.so | sed -n 's/.*Build ID: *//p' > id\n"
	"nm lib.so | sed -n 's/ t hidden$//p' > hidden; nm noid.so | sed -n 's/ t hidden$//p' > "
	"noid\n"
	"test -s id -a -s hidden -a -s noid\n";

static int make_all(void **state)
{
	return make_dir(state, make_files, "SKIP debug-files: no gcc, objcopy, xz\n");
}

static uint64_t read_address(const char *name)
{
	_cleanup_close_ int fd = open_at(name, O_RDONLY);
	char text[64] = "";

	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	return strtoull(text, NULL, 16);
}

/*
 * Checks that krait finds the name @name (NULL: none) in the library root/@path, for the address
 * that is in the file @truth.
 */
static void expect(const char *path, const char *truth, const char *name, const char *refused)
{
	_cleanup_close_ int root = open_at("root", O_PATH | O_DIRECTORY), fd;
	struct elf_name got = {.name = "none"};
	char below[PATH_MAX];
	struct elf_names *n;
	bool found;

	snprintf(below, sizeof(below), "root%s", path);
	fd = open_at(below, O_RDONLY);
	assert_int_equal(elf_names_open(fd, path, root, &n), 0);
	found = elf_names_find(n, read_address(truth) + 1, NULL, &got);
	assert_int_equal(found, name != NULL);
	if (name)
		assert_string_equal(got.name, name);
	if (refused)
		assert_true(elf_names_refused(n) && strstr(elf_names_refused(n), refused));
	else
		assert_null(elf_names_refused(n));
	elf_names_free(n);
}

static void test_build_id(void **state)
{
	if (*state)
		skip();
	expect("/srv/lib.so", "hidden", NULL, NULL);
	run("i=$(cat id); d=root/usr/lib/debug/.build-id/${i%${i#??}}; mkdir -p $d;"
	    "cp lib.debug $d/${i#??}.debug");
	expect("/srv/lib.so", "hidden", "hidden", NULL);
	run("i=$(cat id); cp other.debug root/usr/lib/debug/.build-id/${i%${i#??}}/${i#??}.debug");
	expect("/srv/lib.so", "hidden", NULL, "another build id");
	run("i=$(cat id); cp noid.debug root/usr/lib/debug/.build-id/${i%${i#??}}/${i#??}.debug");
	expect("/srv/lib.so", "hidden", NULL, "another build id");
	run("i=$(cat id); cp lib.c root/usr/lib/debug/.build-id/${i%${i#??}}/${i#??}.debug");
	expect("/srv/lib.so", "hidden", NULL, "not an ELF file");
	run("rm -r root/usr/lib/debug/.build-id");
}

static void test_link(void **state)
{
	if (*state)
		skip();
	expect("/srv/noid.so", "noid", NULL, NULL);
	run("cp noid.debug root/usr/lib/debug/srv/");
	expect("/srv/noid.so", "noid", "hidden", NULL);
	run("cp lib.debug root/srv/noid.debug"); /* krait tries this path first */
	expect("/srv/noid.so", "noid", "hidden", "/srv/noid.debug: another build id");
	run("rm root/usr/lib/debug/srv/noid.debug; cp noid.debug root/srv/; printf x >> "
	    "root/srv/noid.debug");
	expect("/srv/noid.so", "noid", NULL,
	       "/srv/noid.debug: its checksum isn't the one in .gnu_debuglink");
	run("rm root/srv/noid.debug; mkdir root/srv/.debug; ln -s /srv/real "
	    "root/srv/.debug/noid.debug;"
	    "cp noid.debug root/srv/real");
	expect("/srv/noid.so", "noid", "hidden", NULL);
	run("cp noid.debug large; truncate -s 4000M large; rm root/srv/.debug/noid.debug; mv large "
	    "root/srv/.debug/noid.debug");
	expect("/srv/noid.so", "noid", NULL,
	       "/srv/.debug/noid.debug: too large for its checksum to be computed");
	run("rm root/srv/.debug/noid.debug; mkfifo root/srv/.debug/noid.debug");
	expect("/srv/noid.so", "noid", NULL, NULL);
}

static void test_mini(void **state)
{
	if (*state)
		skip();
	expect("/srv/mini.so", "hidden", "hidden", NULL);
	expect("/srv/cut.so", "hidden", NULL, ".gnu_debugdata can't be unpacked");
	expect("/srv/text.so", "hidden", NULL, "not an ELF file");
	expect("/srv/bomb.so", "hidden", NULL, ".gnu_debugdata can't be unpacked");
}

/* a debuginfod server is an HTTP server for a directory */
static const char server[] =
	"import http.server, socketserver, threading\n"
	"class H(http.server.SimpleHTTPRequestHandler):\n"
	"    def log_message(self, *a): pass\n"
	"s = socketserver.TCPServer(('127.0.0.1', 0), H)\n"
	"open('port.new', 'w').write('http://127.0.0.1:%d' % s.server_address[1])\n"
	"import os; os.rename('port.new', 'port')\n"
	"threading.Timer(60, os._exit, (0,)).start()\n"
	"s.serve_forever()\n";

static void test_debuginfod(void **state)
{
	char url[64] = "";
	int fd = -1;

	if (*state || !dlopen("libdebuginfod.so.1", RTLD_NOW)) {
		print_message("SKIP debuginfod: no libdebuginfod\n");
		skip();
	}
	fd = open_at("server.py", O_WRONLY | O_CREAT);
	assert_true(write(fd, server, strlen(server)) == (ssize_t)strlen(server));
	close(fd);
	run("mkdir -p buildid/$(cat id); cp lib.debug buildid/$(cat id)/debuginfo;"
	    "python3 server.py >log 2>&1 & echo $! > pid; for i in $(seq 100); do"
	    " test -e port && break; sleep 0.1; done");
	fd = open_at("port", O_RDONLY);
	if (fd < 0 || read(fd, url, sizeof(url) - 1) <= 0) {
		print_message("SKIP debuginfod: no python3\n");
		skip();
	}
	close(fd);
	setenv("DEBUGINFOD_URLS", url, 1);
	setenv("DEBUGINFOD_CACHE_PATH", dir, 1);
	expect("/srv/lib.so", "hidden", "hidden", NULL);
	unsetenv("DEBUGINFOD_URLS");
	expect("/srv/lib.so", "hidden", NULL, NULL);
	run("kill $(cat pid)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_build_id),
		cmocka_unit_test(test_link),
		cmocka_unit_test(test_mini),
		cmocka_unit_test(test_debuginfod),
	};

	return cmocka_run_group_tests(tests, make_all, remove_all);
}
