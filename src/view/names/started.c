/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the package that was started by a console script or by `python -m`. It counts as the user's
 * program, whether it is installed or not, unless its purpose is to run other people's programs;
 * see origin.h.
 */
#include "base/cleanup.h"
#include "base/text/str.h"
#include "view/names/origin.h"

/*
 * Packages whose purpose is to run other programs: servers, workers, test runners, notebooks,
 * profilers and debuggers.
 */
static const char *const runners[] = {
	"IPython",
	"_pytest",
	"accelerate",
	"airflow",
	"arq",
	"behave",
	"bokeh",
	"bpython",
	"celery",
	"coverage",
	"daphne",
	"dask",
	"ddtrace",
	"debugpy",
	"deepspeed",
	"distributed",
	"django",
	"dramatiq",
	"elasticapm",
	"eventlet",
	"fastapi",
	"fastapi_cli",
	"faust",
	"flask",
	"gevent",
	"gradio",
	"granian",
	"gunicorn",
	"honcho",
	"huey",
	"hypercorn",
	"ipykernel",
	"ipykernel_launcher",
	"joblib",
	"jupyter",
	"jupyter_core",
	"jupyter_server",
	"jupyterlab",
	"kedro",
	"kernprof",
	"lightning",
	"line_profiler",
	"locust",
	"loky",
	"luigi",
	"memory_profiler",
	"memray",
	"mpi4py",
	"nameko",
	"nbconvert",
	"newrelic",
	"nose",
	"nose2",
	"notebook",
	"nox",
	"opentelemetry",
	"panel",
	"papermill",
	"poetry",
	"prefect",
	"ptpython",
	"pudb",
	"pytest",
	"quart",
	"ray",
	"robot",
	"rq",
	"sanic",
	"scalene",
	"scrapy",
	"snakemake",
	"streamlit",
	"taskiq",
	"tornado",
	"torch",
	"tox",
	"twisted",
	"uvicorn",
	"viztracer",
	"voila",
	"waitress",
	"watchdog",
	"watchfiles",
};

/*
 * Packages that only help a program with its command line: a console script may call their main(),
 * which then calls the program's own code.
 */
static const char *const wrappers[] = {"absl", "asyncclick", "click", "cyclopts", "fire",
				       "plac", "rich_click", "typer", "tyro"};

static bool is_one_of(const char *const *names, size_t k, const char *name, size_t n)
{
	for (size_t i = 0; i < k; i++)
		if (strlen(names[i]) == n && !strncmp(names[i], name, n))
			return true;
	return false;
}

bool origin_is_runner(const char *name, size_t n)
{
	return is_one_of(runners, ARRAY_SIZE(runners), name, n);
}

bool origin_is_wrapper(const char *name, size_t n)
{
	return is_one_of(wrappers, ARRAY_SIZE(wrappers), name, n);
}

/*
 * Tells whether this function starts a program: it is a function of a console script, or the
 * function in runpy that runs the module of `python -m`.
 */
static bool starts(const struct origin *o, const struct profile_function *f)
{
	const char *file = profile_get_string(o->p, f->file);

	if (o->launcher[f->file])
		return true;
	return streq(profile_get_string(o->p, f->name), "_run_code") &&
	       (streq(file, "<frozen runpy>") ||
		(str_ends(file, "/runpy.py") && origin_cuts(file).stdlib));
}

int origin_add_package(struct origin *o, const char *name, size_t n, bool together)
{
	vec_foreach(package, &o->packages)
		if (package->n == n && !strncmp(package->name, name, n))
			return 0;
	return vec_push(&o->packages,
			(struct origin_package){name, n, .entry = true, .together = together});
}

/*
 * Looks at one frame of a stack. @after: the frame's caller starts a program. If so, and the
 * frame's package is the program, adds that package. *open: the frames that this frame calls must
 * also be looked at.
 */
static int look(struct origin *o, uint32_t location, bool after, bool *open)
{
	const struct profile_location *l = profile_get_location(o->p, location);
	const struct profile_function *f;
	const char *path;
	size_t cut, n;

	*open = after;
	if (profile_get_mapping(o->p, l->mapping)->kind != KIND_PYTHON)
		return 0;
	*open = false;
	f = l->function ? profile_get_function(o->p, l->function) : NULL;
	if (!f || !f->file)
		return 0;
	*open = starts(o, f);
	path = profile_get_string(o->p, f->file);
	cut = after && !*open ? origin_cuts(path).site : 0;
	if (!cut)
		return 0;
	path = origin_below_archive(path + cut);
	n = strcspn(path, "/.");
	*open = origin_is_wrapper(path, n);
	return *open || origin_is_runner(path, n) ? 0 : origin_add_package(o, path, n, false);
}

int origin_find_started(struct origin *o)
{
	size_t nodes = profile_n_nodes(o->p);
	_cleanup_free_ bool *open = calloc(nodes + 1, sizeof(*open));
	int r = open ? 0 : -ENOMEM;

	for (uint32_t id = 1; !r && id <= nodes; id++) {
		uint32_t parent, location;

		profile_get_node(o->p, id, &parent, &location);
		r = look(o, location, open[parent], &open[id]);
	}
	return r;
}

void origin_note(struct profile *p)
{
	struct origin o;
	int r = origin_init(&o, p);

	for (size_t i = 0; !r && i < o.packages.n; i++) {
		const struct origin_package *package = &o.packages.v[i];
		_cleanup_str_ struct str text = {};
		/*
		 * an earlier comment says that the package was installed together with another
		 * package
		 */
		bool known = package->together;

		str_add_n(&text, package->name, package->n);
		vec_foreach(comment, &profile_meta(p)->comments.list)
			known |= package->name == *comment + strlen(COMMENTS_ENTRY ": ") ||
				 package->name == *comment + strlen(COMMENTS_MINE ": ");
		if (!known)
			profile_add_comment(p, COMMENTS_ENTRY, str_cstr(&text));
	}
	origin_fini(&o);
}
