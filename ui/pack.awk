# SPDX-License-Identifier: BSD-2-Clause
# Makes one short script of the modules of ui/, because every page carries it: one function, without
# imports, comments, and blanks and ends of lines that mean nothing; let for const, x => for (x) =>,
# !0 for true, let a, b for let a; let b, and short names for functions of Math.
# It fails where it can't tell a division from a regular expression, or where a string doesn't end.
# tests/golden/page/packing.js compares what a parser reads before and after.

function fail(why) {
	printf "%s:%d: %s\n", FILENAME, FNR, why > "/dev/stderr"
	failed = 1
	exit 1
}

# Takes @n characters from the line.
function take(n,    text) {
	text = substr(line, 1, n)
	line = substr(line, n + 1)
	return text
}

function is_word(token) {
	return token ~ ("^" WORD)
}

# Whether the last token ends an operand, so that a / divides.
function is_operand() {
	if (last == "}")
		fail("this / may divide or begin a regular expression")
	if (last == ")")
		return !head
	if (last ~ /^(await|case|delete|do|else|in|instanceof|new|of|return|throw|typeof|void|yield)$/)
		return before == "."
	return is_word(last) || last ~ /^("|]|\+\+|--)$/
}

# What stands between the last token and this one, where @gap was.
function between(token) {
	if (is_word(last) && (is_word(token) || token == "."))
		return gap
	if (last ~ /[+-]$/ && substr(last, 1, 1) == substr(token, 1, 1))
		return gap
	# // and <!-- begin a comment, </ may end the script.
	if ((last ~ /^[<\/]$/ && token ~ /^(\/|regex)$/) || (last == "<" && token == "!"))
		return gap
	# A line's end may end a statement, but not beside these, nor after if (...).
	if (!(last == ")" && head) && gap == "\n" && last !~ /^(=>|[;{,(=&|?:<>*%^!~+[-])$/ &&
	    token !~ /^[]),;.?:=&|<>*%^}]/)
		return gap
	return ""
}

# Whether the semicolon after the token @before is a statement itself.
function is_empty_statement() {
	return before ~ /^([;{:]|else|do)$/ || (before == ")" && head)
}

# Writes a token, which is @like one for the choices above. A semicolon is written with the
# next token, because none is needed before }. Between two declarations it becomes a comma.
# declares[depth]: the statement is a declaration; declared: the last token ended one.
function put(token, like,    joins, space) {
	joins = declared && like == "let"
	if (last == ";" && !joins && (like != "}" || is_empty_statement()))
		out = out ";"
	space = joins ? "" : between(like)
	out = out space (joins ? "," : token == ";" ? "" : token)
	declared = like == ";" && declares[depth]
	if (like == ";" || space == "\n")
		declares[depth] = 0
	if (like == "let" && last != ".")
		declares[depth] = 1
	before = last
	last = joins ? "," : like
	gap = ""
}

# A template stays as it is, but for expressions in it. @level is how many expressions of templates
# are around this place, braces[@level] how many other braces are open in the innermost one.
function template() {
	in_template = 1
	while (line != "" && in_template)
		if (line ~ /^\$\{/) {
			out = out take(2)
			braces[++level] = 0
			in_template = 0
			last = "{"
		} else if (line ~ /^`/) {
			out = out take(1)
			in_template = 0
			last = "\""
		} else
			out = out take(match(line, /^([^`\\$]+|\\.)/) ? RLENGTH : 1)
}

function comment(    end) {
	end = index(line, "*/")
	in_comment = !end
	take(end ? end + 1 : length(line))
	gap = gap == "" ? " " : gap
}

function slash() {
	if (is_operand())
		put(take(1), "/")
	else if (match(line, /^\/([^\/\\[]|\\.|\[([^]\\]|\\.)*\])+\//))
		put(take(RLENGTH), "regex")
	else
		fail("this regular expression doesn't end")
}

function punctuation(token) {
	if (token == "(")
		heads[++parens] = (last ~ /^(if|while|for|with)$/ && before != ".") ||
			(last == "await" && before == "for")
	if (token == "=>" && match(out, /\([A-Za-z_$][A-Za-z0-9_$]*\)$/) &&
	    substr(out, 1, RSTART - 1) !~ /[A-Za-z0-9_$]$/)
		out = substr(out, 1, RSTART - 1) substr(out, RSTART + 1, RLENGTH - 2)
	if (token ~ /^[])}]$/)
		depth--
	put(token, token)
	if (token ~ /^[[({]$/)
		declares[++depth] = 0
	if (token == ")")
		head = heads[parens--]
}

function brace(token) {
	if (token == "}" && level && !braces[level]) {
		level--
		put(take(1), "`")
		template()
		return
	}
	if (level)
		braces[level] += token == "{" ? 1 : -1
	punctuation(take(1))
}

# Whether the word is true or false, and not the name of a property.
function is_truth(word) {
	return word ~ /^(true|false)$/ && last != "." &&
		!(last ~ /^[{,]$/ && line ~ /^[ \t]*[:(]/)
}

# Reads what the line begins with.
function next_token() {
	if (in_comment || line ~ /^\/\*/)
		comment()
	else if (in_template)
		template()
	else if (match(line, /^[ \t]+/) || match(line, /^\/\/.*/)) {
		take(RLENGTH)
		gap = gap == "" ? " " : gap
	} else if (match(line, /^'([^'\\]|\\.)*'/) || match(line, /^"([^"\\]|\\.)*"/))
		put(take(RLENGTH), "\"")
	else if (line ~ /^['"\\]/)
		fail("this string doesn't end")
	else if (line ~ /^const [A-Za-z_$[{]/ && last != ".") {
		take(5)
		put("let", "let")
	} else if (match(line, /^[0-9][0-9A-Za-z_.]*/) || match(line, "^" WORD "+")) {
		word = take(RLENGTH)
		if (word == "Math" && last != "." && match(line, /^\.[A-Za-z0-9]+/) &&
		    substr(line, 2, RLENGTH - 1) in SHORT)
			put(SHORT[substr(take(RLENGTH), 2)], word)
		else if (is_truth(word))
			put(word == "true" ? "!0" : "!1", "0")
		else
			put(word, word)
	} else if (line ~ /^`/) {
		put(take(1), "`")
		template()
	} else if (line ~ /^\//)
		slash()
	else if (line ~ /^[{}]/)
		brace(substr(line, 1, 1))
	else
		punctuation(take(match(line, /^(\+\+|--|=>)/) ? RLENGTH : 1))
}

BEGIN {
	split("abs $a floor $f max $x min $n round $r", name, " ")
	for (i = 1; i in name; i += 2)
		SHORT[name[i]] = name[i + 1]
	printf "(()=>{'use strict';let{abs:$a,floor:$f,max:$x,min:$n,round:$r}=Math"
	last = ";"
	WORD = "[^][ \t!\"#%&'()*+,./:;<=>?@\\\\^`{|}~-]"
}

!in_template && !in_comment && (importing || /^import[ {]/) {
	importing = !/;/
	next
}

{
	line = $0
	if (!in_template && !in_comment)
		sub(/^export /, "", line)
	while (line != "")
		next_token()
	if (in_template)
		out = out "\n"
	else
		gap = "\n"
	printf "%s", out
	out = ""
}

END {
	if (!failed)
		print "})();"
}
