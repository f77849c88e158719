/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `krait completion SHELL`: from the option tables, generates what bash, zsh and fish offer after
 * Tab. The build installs the results, so shells don't run krait for it.
 */
#include "base/system/log.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/parts.h"
#include "format/format.h"

/*
 * Prints the words that complete the option's value (row->complete), with @separator between them.
 */
static void print_words(const struct option_row *row, char separator)
{
	if (streq(row->complete, COMPLETE_FORMAT) || streq(row->complete, COMPLETE_REPORT_FORMAT)) {
		if (streq(row->complete, COMPLETE_REPORT_FORMAT))
			printf("text%cmd%cjson%c", separator, separator, separator);
		for (size_t i = 0; i < render_n_formats; i++)
			printf("%s%c", render_formats[i].name, separator);
	} else if (streq(row->complete, COMPLETE_EVENT)) {
		for (const char *const *name = parts_event_names(); *name; name++)
			printf("%s%c", *name, separator);
	} else {
		for (const char *s = row->complete; *s; s++)
			putchar(*s == ' ' ? separator : *s);
	}
}

static bool is(const struct option_row *row, const char *complete)
{
	return row->complete && streq(row->complete, complete);
}

/* Prints a text so that it can stand between a shell's single quotes. */
static void quoted(const char *s)
{
	for (; *s; s++) {
		if (*s == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*s);
	}
}

static void bash_values(const struct command *c)
{
	for (const struct option_row *row = c->rows; row->name; row++) {
		if (!row->arg)
			continue;
		printf("\t%s,--%s", c->name, row->name);
		if (row->letter)
			printf(" | %s,-%c", c->name, row->letter);
		fputs(")\n\t\t", stdout);
		if (is(row, COMPLETE_PROCESS)) {
			fputs("words=$(cd /proc && echo [1-9]*)", stdout);
		} else if (row->complete && !is(row, COMPLETE_FILE)) {
			fputs("words='", stdout);
			print_words(row, ' ');
			putchar('\'');
		} else {
			/* if the function returns no words, bash completes file names */
			fputs("return", stdout);
		}
		fputs(" ;;\n", stdout);
	}
}

/* Prints the last words of the subcommands of @c: "run" for "agent run". */
static void print_commands(const struct command *c)
{
	for (const struct command *const *sub = c->commands; sub && *sub; sub++)
		printf("%s ", command_word(*sub));
}

static void bash_options(const struct command *c)
{
	printf("\t\t%s) words='", c->name);
	print_commands(c);
	for (const struct option_row *row = c->rows; row->name; row++)
		printf("--%s ", row->name);
	fputs("' ;;\n", stdout);
}

#define for_each_command(c)                                                                        \
	for (const struct command *const *c = commands; *c; c++)                                   \
		if (!(*c)->hidden)

static void bash(void)
{
	fputs("# bash completion for krait; made by `krait completion bash`.\n"
	      "_krait()\n{\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words i\n"
	      "\tlocal command=record names='",
	      stdout);
	for_each_command(c) printf("%s ", (*c)->name);
	fputs("'\n\tCOMPREPLY=()\n"
	      "\t[[ \" $names \" == *\" ${COMP_WORDS[1]} \"* ]] && ((COMP_CWORD > 1)) && "
	      "command=${COMP_WORDS[1]}\n"
	      "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	      "\t\tif [[ ${COMP_WORDS[i]} == -- ]]; then\n"
	      "\t\t\tdeclare -F _command_offset >/dev/null && _command_offset $((i + 1))\n"
	      "\t\t\treturn\n\t\tfi\n\tdone\n"
	      "\t# --name=value arrives as three words\n"
	      "\t[[ $cur == = ]] && cur=\n"
	      "\t[[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD-2]}\n"
	      "\tcase $command,$prev in\n",
	      stdout);
	for_each_command(c) bash_values(*c);
	/*
	 * `krait help` is followed by the name of a command, or by --help if the word that is being
	 * completed begins with -.
	 */
	fputs("\thelp,help) [[ $cur == -* ]] && words='--help' || words=\"$names formats\" ;;\n"
	      "\t*)\n\t\tcase $command in\n",
	      stdout);
	for_each_command(c) bash_options(*c);
	fputs("\t\tesac\n\t\t((COMP_CWORD > 1)) || words=\"$names $words\" ;;\n\tesac\n"
	      "\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\n"
	      "complete -o default -F _krait krait\n",
	      stdout);
}

static void zsh_action(const struct option_row *row)
{
	printf(":%s:", row->arg);
	if (is(row, COMPLETE_FILE)) {
		fputs("_files", stdout);
	} else if (is(row, COMPLETE_PROCESS)) {
		fputs("_pids", stdout);
	} else if (row->complete) {
		putchar('(');
		print_words(row, ' ');
		putchar(')');
	}
}

/* Prints a help text for zsh's _arguments, in which '[' and ':' have a meaning of their own. */
static void zsh_help(const struct option_row *row)
{
	putchar('[');
	for (const char *s = row->help; *s; s++) {
		if (strchr("[]:\\", *s))
			putchar('\\');
		if (*s == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*s);
	}
	putchar(']');
}

static void zsh_option(const struct option_row *row)
{
	fputs("\t\t", stdout);
	if (row->letter)
		printf("'*'{-%c%s,--%s%s}'", row->letter, row->arg ? "+" : "", row->name,
		       row->arg ? "=" : "");
	else
		printf("'*--%s%s", row->name, row->arg ? "=" : "");
	zsh_help(row);
	if (row->arg)
		zsh_action(row);
	fputs("' \\\n", stdout);
}

static void zsh_commands(const struct command *c)
{
	fputs("\t\t'1:command:(", stdout);
	print_commands(c);
	fputs(")'\n}\n\n", stdout);
}

static void zsh_command(const struct command *c)
{
	printf("_krait_%s()\n{\n\t_arguments -s -S \\\n", c->name);
	for (const struct option_row *row = c->rows; row->name; row++)
		zsh_option(row);
	if (c->takes_command)
		fputs("\t\t'*::command:_normal'\n}\n\n", stdout);
	else if (c->operand_is_file)
		fputs("\t\t'*:file:_files'\n}\n\n", stdout);
	else if (c == &command_help)
		fputs("\t\t'1:command:_krait_commands'\n}\n\n", stdout);
	else if (c->commands)
		zsh_commands(c);
	else
		fputs("\t\t&& return\n}\n\n", stdout);
}

static void zsh(void)
{
	fputs("#compdef krait\n# zsh completion for krait; made by `krait completion zsh`.\n\n"
	      "_krait_commands()\n{\n\tlocal -a commands=(\n",
	      stdout);
	for_each_command(c)
	{
		printf("\t\t'%s:", (*c)->name);
		quoted((*c)->summary);
		fputs("'\n", stdout);
	}
	fputs("\t)\n\t_describe command commands\n}\n\n", stdout);
	for_each_command(c) zsh_command(*c);
	fputs("_krait()\n{\n\tif ((CURRENT == 2)) && [[ $words[2] != -* ]]; then\n"
	      "\t\t_krait_commands\n\t\treturn\n\tfi\n"
	      "\tif (($+functions[_krait_$words[2]])); then\n"
	      "\t\tlocal command=$words[2]\n\t\tshift words\n\t\t((CURRENT--))\n"
	      "\t\t_krait_$command\n\telse\n\t\t_krait_record\n\tfi\n}\n\n_krait \"$@\"\n",
	      stdout);
}

static void fish_option(const struct command *c, const struct option_row *row)
{
	printf("complete -c krait -n '__krait_is %s' -l %s", c->name, row->name);
	if (row->letter)
		printf(" -s %c", row->letter);
	if (is(row, COMPLETE_FILE)) {
		fputs(" -rF", stdout);
	} else if (is(row, COMPLETE_PROCESS)) {
		fputs(" -xa '(__fish_complete_pids)'", stdout);
	} else if (row->arg) {
		fputs(" -xa '", stdout);
		if (row->complete)
			print_words(row, ' ');
		putchar('\'');
	}
	fputs(" -d '", stdout);
	quoted(row->help);
	fputs("'\n", stdout);
}

static void fish(void)
{
	fputs("# fish completion for krait; made by `krait completion fish`.\n"
	      "function __krait_is\n\tset -l words (commandline -opc)\n"
	      "\tcontains -- -- $words; and return 1\n"
	      "\tset -l command record\n\tcontains -- \"$words[2]\"",
	      stdout);
	for_each_command(c) printf(" %s", (*c)->name);
	fputs("; and set command $words[2]\n\ttest $command = $argv[1]\nend\n"
	      "function __krait_after\n\tset -l words (commandline -opc)\n"
	      "\tset -l i (contains -i -- -- $words); and commandline -op | string join ' ' | "
	      "string replace -r '^.*? -- ' ''\nend\n"
	      "complete -c krait -f\n"
	      "complete -c krait -n 'contains -- -- (commandline -opc)' "
	      "-a '(complete -C (__krait_after))'\n",
	      stdout);
	for_each_command(c)
	{
		printf("complete -c krait -n 'test (count (commandline -opc)) = 1' -a %s -d '",
		       (*c)->name);
		quoted((*c)->summary);
		fputs("'\n", stdout);
		if ((*c)->operand_is_file)
			printf("complete -c krait -n '__krait_is %s' -F\n", (*c)->name);
		if ((*c)->commands) {
			printf("complete -c krait -n '__krait_is %s' -a '", (*c)->name);
			print_commands(*c);
			fputs("'\n", stdout);
		}
		for (const struct option_row *row = (*c)->rows; row->name; row++)
			fish_option(*c, row);
	}
}

static const struct {
	const char *name;
	void (*print)(void);
} shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

static int run(const struct command *self, int argc, char **argv)
{
	struct operands operands;
	int r = options_read(self, argc, argv, NULL, &operands);

	if (r >= 0)
		return r;
	for (size_t i = 0; operands.operand && i < ARRAY_SIZE(shells); i++)
		if (streq(operands.operand, shells[i].name)) {
			shells[i].print();
			return fflush(stdout) ? EXIT_FAILED : EXIT_DONE;
		}
	log_error("name a shell: krait completion bash, zsh or fish");
	return EXIT_USAGE;
}

static const struct option_row rows[] = {OPTION_HELP, {}};

const struct command command_completion = {
	.name = "completion",
	.summary = "Print the completions of a shell; `make install` puts them in place.",
	.synopsis = (const char *const[]){"completion bash|zsh|fish", NULL},
	.rows = rows,
	.operand = "SHELL",
	.hidden = true,
	.run = run,
};
