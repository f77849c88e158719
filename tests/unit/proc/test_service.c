/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of services: the rules in their order, and what krait reads from each kind of file. The
 * texts of container engines are those that the sources named in proc/service/engine.h write. The
 * process in question is a child of this test, so the test knows its environment and directory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "proc/proc.h"
#include "proc/service/engine.h"
#include "proc/service/environment.h"
#include "proc/service/files.h"
#include "proc/service/git.h"
#include "proc/service/image.h"
#include "proc/service/service.h"
#include "proc/service/unit.h"

#define ID	 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER_ID "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define COMMIT	 "6f3d3b6e8d0a4f0b9c1d2e3f405162738495a6b7"

static char dir[] = "/tmp/krait-service-XXXXXX";

static int group_setup(void **state)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_files(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s/*", dir);
	return system(command);
}

static int group_teardown(void **state)
{
	return remove_files(state) ?: rmdir(dir);
}

/* Makes a file with @text below the test's directory, and all directories in its path. */
static void put(const char *path, const char *text)
{
	char file[512], command[600];
	FILE *f;

	snprintf(file, sizeof(file), "%s/%s", dir, path);
	snprintf(command, sizeof(command), "mkdir -p $(dirname %s)", file);
	assert_int_equal(system(command), 0);
	f = fopen(file, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void test_rules(void **state)
{
	struct service_rules r = {};

	assert_int_equal(service_rules_parse("script,otel", &r), 0);
	assert_int_equal(r.n, 2);
	assert_int_equal(r.order[0], SERVICE_SCRIPT);
	assert_int_equal(r.order[1], SERVICE_OTEL);
	assert_int_equal(service_rules_parse(SERVICE_DEFAULT, &r), 0);
	assert_int_equal(service_rules_parse("otel,dd,otel", &r), -EINVAL);
	assert_string_equal(err_msg(), "'otel' is there twice");
	assert_int_equal(service_rules_parse("otel,", &r), -EINVAL);
	assert_int_equal(service_rules_parse("", &r), -EINVAL);
	assert_int_equal(service_rules_parse("otlp", &r), -EINVAL);
	assert_string_equal(err_msg(),
			    "'otlp' is no rule for the name of a service; the rules are otel, "
			    "dd, pod, container, image, unit, venv and script");
}

static void assert_variables(const char *environment, size_t n, const char *wanted)
{
	struct service_variables v;
	char text[256];

	service_variables_from(environment, n, &v);
	snprintf(text, sizeof(text), "%s|%s|%s|%s", v.otel_name ?: "", v.otel_version ?: "",
		 v.dd_name ?: "", v.dd_version ?: "");
	assert_string_equal(text, wanted);
	service_variables_fini(&v);
}

#define VARIABLES(text, wanted) assert_variables(text, sizeof(text) - 1, wanted)

static void test_environment(void **state)
{
	VARIABLES("", "|||");
	VARIABLES("A=1\0DD_SERVICE=shop\0DD_VERSION=1.2\0", "||shop|1.2");
	VARIABLES("OTEL_SERVICE_NAME=a\0OTEL_RESOURCE_ATTRIBUTES=service.name=b,service.version=3",
		  "a|3||");
	VARIABLES("OTEL_RESOURCE_ATTRIBUTES= service.name = b%2Cc%20d%zz ,x,=,service.version=\0",
		  "b,c d%zz|||");
	VARIABLES("XDD_SERVICE=a\0DD_SERVICES=b\0DD_SERVICE\0DD_SERVICE=\0", "|||");
	VARIABLES("OTEL_RESOURCE_ATTRIBUTES=service.name=a%00b", "a?b|||");
}

static void assert_unit(const char *path, const char *wanted)
{
	_cleanup_str_ struct str unit = {};

	assert_int_equal(unit_from_cgroup(path, &unit), *wanted != '\0');
	assert_string_equal(str_cstr(&unit), wanted);
}

static void test_unit(void **state)
{
	assert_unit("/system.slice/shop.service", "shop");
	assert_unit("/system.slice/system-web.slice/web@1\\x2d2.service", "web@1-2");
	assert_unit("/shop.slice/shop.service/worker", "shop");
	assert_unit("/user.slice/user-1000.slice/user@1000.service/app.slice/jobs.service", "jobs");
	assert_unit("/user.slice/user-1000.slice/user@1000.service/init.scope", "");
	assert_unit("/user.slice/user-1000.slice/session-3.scope", "");
	assert_unit("/system.slice/docker-" ID ".scope/evil.service", "");
	assert_unit("/", "");
	assert_unit("/.service", "");
}

static void assert_image(const char *image, const char *name, const char *tag)
{
	_cleanup_str_ struct str n = {}, t = {};

	image_name(image, &n);
	image_tag(image, &t);
	assert_string_equal(str_cstr(&n), name);
	assert_string_equal(str_cstr(&t), tag);
}

static void test_image(void **state)
{
	assert_image("shop", "shop", "");
	assert_image("registry.example:5000/team/shop:1.2", "shop", "1.2");
	assert_image("registry.example:5000/shop", "shop", "");
	assert_image("shop:latest", "shop", "");
	assert_image("shop:3@sha256:" ID, "shop", "3");
	assert_image("shop@sha256:" ID, "shop", "");
	assert_image("sha256:" ID, "", "");
	assert_image(ID, "", "");
}

/* as Docker writes it: moby 24, container/container.go (Container: Name, Config.Image, Image) */
static const char docker[] =
	"{\"StreamConfig\":{},\"State\":{\"Running\":true,\"Pid\":4711},\"ID\":\"" ID "\","
	"\"Created\":\"2026-01-01T00:00:00Z\",\"Managed\":false,\"Path\":\"python\",\"Args\":[],"
	"\"Config\":{\"Hostname\":\"0123456789ab\",\"Env\":[\"Name=/no\",\"PASSWORD=x\"],"
	"\"Image\":\"registry.example/team/shop:1.2\",\"Labels\":{\"Name\":\"/neither\"}},"
	"\"Image\":\"sha256:" OTHER_ID "\",\"Name\":\"/web-1\",\"Driver\":\"overlay2\"}";

/*
 * containers.json as CRI-O 1.29 (internal/storage/runtime.go, RuntimeContainerMetadata) and Podman
 * 4 write it with containers/storage 1.50 (containers.go, Container)
 */
static const char storage[] =
	"[{\"id\":\"" OTHER_ID "\",\"names\":[\"db\"],\"image\":\"" ID "\",\"layer\":\"x\","
	"\"metadata\":\"{\\\"image-name\\\":\\\"docker.io/library/postgres:16\\\","
	"\\\"name\\\":\\\"db\\\",\\\"created-at\\\":1}\",\"created\":\"2026-01-01T00:00:00Z\"},"
	"{\"id\":\"" ID "\",\"names\":[\"k8s_web_shop-1_prod_u_0\",\"more\"],\"image\":\"" ID "\","
	"\"metadata\":\"{\\\"pod-name\\\":\\\"k8s_shop-1_prod_u_0\\\",\\\"pod-id\\\":\\\"p\\\","
	"\\\"image-name\\\":\\\"quay.io/shop:3\\\",\\\"name\\\":\\\"k8s_web_shop-1_prod_u_0\\\","
	"\\\"metadata-name\\\":\\\"web\\\"}\",\"flags\":{\"MountLabel\":\"\"}}]";

/*
 * config.json of a bundle of containerd 1.6, with the annotations of
 * pkg/cri/annotations/annotations.go
 */
static const char bundle[] =
	"{\"ociVersion\":\"1.0.2\",\"process\":{\"args\":[\"python\"],\"env\":[\"A=1\"]},"
	"\"annotations\":{\"io.kubernetes.cri.container-name\":\"web\","
	"\"io.kubernetes.cri.container-type\":\"container\","
	"\"io.kubernetes.cri.image-name\":\"registry.example/shop:4\","
	"\"io.kubernetes.cri.sandbox-name\":\"shop-1\","
	"\"io.kubernetes.cri.sandbox-namespace\":\"prod\"},\"linux\":{}}";

static void assert_facts(struct engine_facts *f, const char *wanted)
{
	char text[512];

	snprintf(text, sizeof(text), "%s|%s|%s|%s|%s", f->name ?: "", f->image ?: "", f->pod ?: "",
		 f->pod_namespace ?: "", f->pod_container ?: "");
	assert_string_equal(text, wanted);
	engine_facts_fini(f);
}

static void test_engines(void **state)
{
	struct engine_facts f = {};

	engine_docker_from(docker, sizeof(docker) - 1, &f);
	assert_facts(&f, "web-1|registry.example/team/shop:1.2|||");
	engine_storage_from(storage, sizeof(storage) - 1, OTHER_ID, &f);
	assert_facts(&f, "db|docker.io/library/postgres:16|||");
	engine_storage_from(storage, sizeof(storage) - 1, ID, &f);
	assert_facts(&f, "k8s_web_shop-1_prod_u_0|quay.io/shop:3|||web");
	engine_storage_from(storage, sizeof(storage) - 1, "none", &f);
	assert_facts(&f, "||||");
	engine_bundle_from(bundle, sizeof(bundle) - 1, &f);
	assert_facts(&f, "|registry.example/shop:4|shop-1|prod|web");
}

/*
 * From a JSON text that breaks off, krait takes what comes before its end, or nothing. A value that
 * should be a string but isn't is ignored.
 */
static void test_broken_texts(void **state)
{
	static const char odd[] = "{\"Name\":7,\"Config\":{\"Image\":[\"a\"]},\"Name\":\"/b\"}";
	struct engine_facts f = {};

	for (size_t n = 0; n < sizeof(docker); n++) {
		engine_docker_from(docker, n, &f);
		engine_facts_fini(&f);
	}
	engine_docker_from(odd, sizeof(odd) - 1, &f);
	assert_facts(&f, "b||||");
	engine_docker_from("[]", 2, &f);
	engine_storage_from("{}", 2, ID, &f);
	engine_bundle_from("{\"annotations\":3}", 17, &f);
	assert_facts(&f, "||||");
}

/* Links to logs as kubelet 1.30 names them: pkg/kubelet/kuberuntime/legacy.go (logSymlink). */
static void test_logs(void **state)
{
	struct engine_facts f = {};

	engine_log_from("shop-7d4b9-x2x4z_prod_web-" ID ".log", ID, &f);
	assert_facts(&f, "||shop-7d4b9-x2x4z|prod|web");
	engine_log_from("shop_prod_web-" OTHER_ID ".log", ID, &f);
	engine_log_from("shop_prod_-" ID ".log", ID, &f);
	engine_log_from("_prod_web-" ID ".log", ID, &f);
	engine_log_from("shop__web-" ID ".log", ID, &f);
	engine_log_from("shop_web-" ID ".log", ID, &f);
	engine_log_from("-" ID ".log", ID, &f);
	assert_facts(&f, "||||");
}

static void test_packed_refs(void **state)
{
	static const char text[] =
		"# pack-refs with: peeled fully-peeled sorted \n" ID " refs/heads/long\n" COMMIT
		" refs/heads/main\n^" ID "\n0123 refs/heads/short\n";

	assert_ptr_equal(git_packed(text, "refs/heads/main"), strstr(text, COMMIT));
	assert_ptr_equal(git_packed(text, "refs/heads/long"), strstr(text, ID));
	assert_null(git_packed(text, "refs/heads/mai"));
	assert_null(git_packed(text, "refs/heads/short"));
	assert_null(git_packed("", "refs/heads/main"));
}

static void assert_revision(const char *directory, const char *wanted)
{
	_cleanup_close_ int self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(service_files_fini) struct service_files files;
	_cleanup_str_ struct str path = {}, revision = {};

	service_files_init(&files, self);
	str_addf(&path, "%s/%s", dir, directory);
	assert_int_equal(git_revision(&files, str_cstr(&path), &revision), *wanted != '\0');
	assert_string_equal(str_cstr(&revision), wanted);
}

static void test_git(void **state)
{
	put("a/.git/HEAD", "ref: refs/heads/main\n");
	put("a/sub/dir/file", "");
	assert_revision("a", "");
	put("a/.git/packed-refs", ID " refs/heads/main\n");
	assert_revision("a/sub/dir", "0123456789ab");
	put("a/.git/refs/heads/main", COMMIT "\n");
	assert_revision("a/sub/dir", "6f3d3b6e8d0a");
	put("a/.git/HEAD", COMMIT "\n");
	assert_revision("a", "6f3d3b6e8d0a");
	put("a/.git/HEAD", "ref: ../../../etc/passwd\n");
	assert_revision("a", "");
	put("a/.git/HEAD", "hello\n");
	assert_revision("a", "");
	assert_revision("none", "");
}

/* krait opens the files of git with the rights of the process's user, not with its own. */
static void test_git_of_another(void **state)
{
	_cleanup_close_ int self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(service_files_fini) struct service_files files;
	_cleanup_str_ struct str path = {}, revision = {};

	if (geteuid()) {
		print_message("SKIP test_git_of_another: not root\n");
		return;
	}
	put("a/.git/HEAD", COMMIT "\n");
	str_addf(&path, "%s/a", dir);
	assert_int_equal(chmod(dir, 0755), 0);
	service_files_init(&files, self);
	files.opener = (struct opener){.has_id = true, .uid = 65534, .gid = 65534};
	assert_true(git_revision(&files, str_cstr(&path), &revision));
	str_clear(&revision);
	str_add(&path, "/.git/HEAD");
	assert_int_equal(chmod(str_cstr(&path), 0600), 0);
	path.n -= strlen("/.git/HEAD");
	path.s[path.n] = '\0';
	assert_false(git_revision(&files, str_cstr(&path), &revision));
}

/* In a git worktree, .git is a file, and the refs are in the main repository. */
static void test_git_worktree(void **state)
{
	_cleanup_str_ struct str line = {};

	str_addf(&line, "gitdir: %s/main/.git/worktrees/w\n", dir);
	put("w/.git", str_cstr(&line));
	put("main/.git/worktrees/w/HEAD", "ref: refs/heads/topic\n");
	put("main/.git/worktrees/w/commondir", "../..\n");
	put("main/.git/refs/heads/topic", COMMIT "\n");
	assert_revision("w", "6f3d3b6e8d0a");
}

/* Starts a program that waits, with the environment @environment. The caller must end it. */
static pid_t start(char *const *environment)
{
	char *argv[] = {"sleep", "100", NULL};
	pid_t pid = fork();
	char path[64], text[16] = "";

	if (!pid) {
		execve("/bin/sleep", argv, environment);
		_exit(127);
	}
	assert_true(pid > 0);
	/* the program's arguments appear at the same time as its environment */
	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	for (int i = 0; i < 5000 && !streq(text, "sleep"); i++) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t n = read(fd, text, sizeof(text) - 1);

		text[MAX(n, (ssize_t)0)] = '\0';
		close(fd);
		usleep(1000);
	}
	assert_string_equal(text, "sleep");
	return pid;
}

static void assert_service(const char *rules, struct service_process *p, char *const *environment,
			   const char *wanted)
{
	_cleanup_close_ int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_proc_ struct proc proc = PROC_INIT;
	pid_t pid = start(environment);
	struct service_rules r;
	struct services *s;
	struct service found;
	char text[1024];

	assert_int_equal(proc_open(&proc, pid), 0);
	assert_int_equal(service_rules_parse(rules, &r), 0);
	s = services_new(&r, root);
	p->procdir = proc.dirfd;
	for (int i = 0; i < 2; i++) { /* in the second round, krait already knows the container */
		service_find(s, p, &found);
		snprintf(text, sizeof(text), "%s|%s|%s|%s", found.name ?: "", found.version ?: "",
			 found.pod ?: "", found.image ?: "");
		service_fini(&found);
		assert_string_equal(text, wanted);
	}
	services_free(s);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_order(void **state)
{
	char *const all[] = {"DD_SERVICE=dd", "OTEL_SERVICE_NAME=otel", "DD_VERSION=7", NULL};
	char *const none[] = {NULL};
	struct service_process p = {.name = "app.py", .cgroup = "/system.slice/shop.service"};

	assert_service(SERVICE_DEFAULT, &p, all, "otel|7||");
	assert_service("dd,otel", &p, all, "dd|7||");
	assert_service("unit,dd", &p, all, "shop|7||");
	assert_service(SERVICE_DEFAULT, &p, none, "shop|||");
	assert_service("script", &p, none, "app.py|||");
	assert_service("pod,venv", &p, none, "|||");
	p.cgroup = NULL;
	assert_service(SERVICE_DEFAULT, &p, none, "app.py|||");
}

static void test_containers(void **state)
{
	char *const none[] = {NULL};
	struct service_process p = {.name = "app.py", .container = ID};

	put("var/lib/docker/containers/" ID "/config.v2.json", docker);
	assert_service(SERVICE_DEFAULT, &p, none, "web-1|1.2||registry.example/team/shop:1.2");
	assert_service("image", &p, none, "shop|1.2||registry.example/team/shop:1.2");
	remove_files(NULL);
	put("var/lib/containers/storage/overlay-containers/containers.json", storage);
	assert_service("container", &p, none, "k8s_web_shop-1_prod_u_0|3||quay.io/shop:3");
	put("var/log/containers/shop-1_prod_web-" ID ".log", "");
	assert_service(SERVICE_DEFAULT, &p, none, "web|3|prod/shop-1|quay.io/shop:3");
	remove_files(NULL);
	put("run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json", bundle);
	assert_service(SERVICE_DEFAULT, &p, none, "web|4|prod/shop-1|registry.example/shop:4");
	p.container = "../../../../etc";
	assert_service(SERVICE_DEFAULT, &p, none, "app.py|||");
}

/*
 * Texts that a recorded program chose are shortened, and lose the characters that control a
 * terminal.
 */
static void test_hostile_names(void **state)
{
	char name[1000] = "DD_SERVICE=";
	char *const variables[] = {name, "DD_VERSION=1\x1b[2J\xff\n", NULL};
	struct service_process p = {};
	_cleanup_str_ struct str wanted = {};

	memset(name + 11, 'x', sizeof(name) - 12);
	for (int i = 0; i < SERVICE_BYTES; i++)
		str_add_c(&wanted, 'x');
	str_add(&wanted, "|1?[2J??||");
	assert_service(SERVICE_DEFAULT, &p, variables, str_cstr(&wanted));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_unit),
		cmocka_unit_test(test_image),
		cmocka_unit_test(test_engines),
		cmocka_unit_test(test_broken_texts),
		cmocka_unit_test(test_logs),
		cmocka_unit_test(test_packed_refs),
		cmocka_unit_test_teardown(test_git, remove_files),
		cmocka_unit_test_teardown(test_git_of_another, remove_files),
		cmocka_unit_test_teardown(test_git_worktree, remove_files),
		cmocka_unit_test(test_order),
		cmocka_unit_test_teardown(test_containers, remove_files),
		cmocka_unit_test(test_hostile_names),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
