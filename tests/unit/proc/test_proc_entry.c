/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which package a server runs, according to its command line. In the command lines below, '|'
 * stands for NUL.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "proc/entry.h"
#include "proc/proc.h"

static const struct {
	const char *cmdline, *want;
} cases[] = {
	{"python3|/venv/bin/gunicorn|shop.wsgi|", "shop"},
	{"python3|/venv/bin/gunicorn|shop.wsgi:application|-w|4|-k|gevent|", "shop"},
	{"python3|/venv/bin/gunicorn|-k|uvicorn.workers.UvicornWorker|-b|0.0.0.0:80|shop.asgi:app|",
	 "shop"},
	{"python3|/venv/bin/gunicorn|-k|gevent|", ""},
	{"python3|/venv/bin/gunicorn|--preload|shop|", "shop"},
	{"python3|/venv/bin/gunicorn|--bind=127.0.0.1:80|shop|", "shop"},
	{"python3|/venv/bin/gunicorn|-c|python:conf.gunicorn|shop.wsgi|", "shop"},
	{"python3|/venv/bin/gunicorn|-b|web:8000|shop:make('x')|", "shop"},
	{"python3|-m|gunicorn|shop.wsgi|", "shop"},
	{"gunicorn: worker [shop.wsgi:app]|", "shop"},
	{"gunicorn: master [a b]|", ""},
	{"python3|-m|uvicorn|shop.main:app|--reload|", "shop"},
	{"python3|/venv/bin/uvicorn|--factory|shop:create|", "shop"},
	{"python3|/venv/bin/celery|-A|shop|worker|-P|eventlet|", "shop"},
	{"python3|/venv/bin/celery|--app=shop.celery:app|worker|", "shop"},
	{"python3|/venv/bin/celery|-Ashop|worker|", "shop"},
	{"python3|-m|celery|--app|shop|beat|", "shop"},
	{"python3|/venv/bin/celery|worker|", ""},
	{"python3|/venv/bin/flask|--app|shop.app|run|", "shop"},
	{"python3|/venv/bin/flask|--app|shop/app.py|run|", ""},
	{"python3|/venv/bin/flask|-A|app.py|run|", ""},
	{"python3|/venv/bin/django-admin|runserver|--settings=shop.settings|", "shop"},
	{"python3|manage.py|runserver|--settings|shop.settings|80|", "shop"},
	{"python3|-m|django|runserver|--settings=shop.settings|", "shop"},
	{"python3|/venv/bin/waitress-serve|--port=80|shop.wsgi:app|", "shop"},
	{"uwsgi|-w|shop.wsgi|--http|:80|", "shop"},
	/* Command lines whose arguments name no package. */
	{"python3|app.py|shop.wsgi:app|", ""},
	{"python3|-m|pytest|shop|", ""},
	{"python3|/venv/bin/gunicorn", ""},
	{"", ""},
};

static size_t nul(const char *text, char *ret)
{
	size_t n = strlen(text);

	for (size_t i = 0; i <= n; i++)
		ret[i] = text[i] == '|' ? '\0' : text[i];
	return n;
}

static void test_command_lines(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_str_ struct str name = {}, got = {};
		char cmdline[256];
		size_t n = nul(cases[i].cmdline, cmdline);

		proc_name_from(cmdline, n, NULL, "python3", &name);
		proc_entry_from(str_cstr(&name), cmdline, n, &got);
		if (!streq(str_cstr(&got), cases[i].want))
			fail_msg("%s: %s", cases[i].cmdline, str_cstr(&got));
	}
}

static void test_environment(void **state)
{
	static const struct {
		const char *name, *environment, *want;
	} environments[] = {
		{"celery", "PATH=/bin|DJANGO_SETTINGS_MODULE=shop.settings|", "shop"},
		{"flask", "FLASK_APP=shop:app|DJANGO_SETTINGS_MODULE=site.settings", "shop site"},
		{"flask", "FLASK_APP=shop|DJANGO_SETTINGS_MODULE=shop.settings", "shop"},
		{"flask", "FLASK_APP=/srv/shop/app.py|", ""},
		{"app.py", "DJANGO_SETTINGS_MODULE=shop.settings|", ""},
		{"flask", "FLASK_APP=", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(environments); i++) {
		_cleanup_str_ struct str got = {};
		char text[256];
		size_t n = nul(environments[i].environment, text);

		proc_entry_from_environment(environments[i].name, text, n, &got);
		assert_string_equal(str_cstr(&got), environments[i].want);
	}
}

static void test_script(void **state)
{
	static const struct {
		const char *text, *want;
	} scripts[] = {
		{"def main():\n    os.environ.setdefault(\"DJANGO_SETTINGS_MODULE\", "
		 "\"shop.settings\")\n",
		 "shop"},
		{"os.environ['DJANGO_SETTINGS_MODULE'] = 'shop.settings.live'", "shop"},
		{"os.environ.setdefault('DJANGO_SETTINGS_MODULE',\n  'shop.settings')", "shop"},
		{"# DJANGO_SETTINGS_MODULE is set by the shell\n", ""},
		{"setdefault('DJANGO_SETTINGS_MODULE', NAME)", ""},
		{"setdefault('DJANGO_SETTINGS_MODULE', 'shop", ""},
		{"DJANGO_SETTINGS_MODULE", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
		_cleanup_str_ struct str got = {};

		proc_entry_from_script(scripts[i].text, &got);
		assert_string_equal(str_cstr(&got), scripts[i].want);
	}
	assert_string_equal(proc_entry_script("manage.py", "py\0./manage.py\0run", 18),
			    "./manage.py");
	assert_null(proc_entry_script("gunicorn", "py\0manage.py", 12));
	assert_null(proc_entry_script("manage.py", "", 0));
}

/*
 * A command line names 10,000 packages. krait keeps only a few of them, because it compares each
 * name with all that it has kept.
 */
static void test_very_many(void **state)
{
	_cleanup_str_ struct str line = {}, got = {};

	str_addf(&line, "celery%c", '\0');
	for (int i = 0; i < 10000; i++)
		str_addf(&line, "--app=p%d%c", i, '\0');
	proc_entry_from("celery", str_cstr(&line), line.n, &got);
	assert_true(str_starts(str_cstr(&got), "p0 p1 p2 "));
	assert_in_range(got.n, 900, 1024);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_command_lines),
		cmocka_unit_test(test_script),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_very_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
