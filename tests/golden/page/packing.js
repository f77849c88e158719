// SPDX-License-Identifier: BSD-2-Clause
// packing.js MODULES...: ui/pack.awk must not change what the page's script does. The
// TypeScript compiler's parser reads the modules, and the script that the awk program makes of
// them. Their trees must be alike, and so must those of packing_hostile.js, which is hard to
// read.
'use strict';
const {spawnSync} = require('child_process');
const {readFileSync} = require('fs');
const ts = require('typescript');
const Kind = ts.SyntaxKind;

const REFUSED = {
	'a regular expression after a block': "if (a) {\n}\n/'/.test(b);",
	"a regular expression that doesn't end": 'const a = /b;',
	"a string that doesn't end": "const a = 'b\\\nc';",
};

const parse = (text) =>
	ts.createSourceFile('a.js', text, ts.ScriptTarget.ES2022, true, ts.ScriptKind.JS);
const pack = (files, input) => spawnSync('awk', ['-f', 'ui/pack.awk', ...files],
	{encoding: 'utf8', input, maxBuffer: 1 << 28, env: {...process.env, LC_ALL: 'C'}});

// Returns true if ui/pack.awk may leave out this token: a semicolon (the tree shows where
// statements end), "export", or the parentheses of (x) => ....
function isFree(node) {
	const {kind, parent} = node;

	if (kind === Kind.SemicolonToken)
		return parent.kind !== Kind.ForStatement;
	if (kind === Kind.OpenParenToken || kind === Kind.CloseParenToken)
		return parent.kind === Kind.ArrowFunction && parent.parameters.length === 1 &&
			parent.parameters[0].getText() === parent.parameters[0].name.text;
	if (kind === Kind.SyntaxList && node.getChildren().length)
		return node.getChildren().every((c) => c.kind === Kind.ExportKeyword);
	return kind === Kind.ExportKeyword || kind === Kind.SemicolonClassElement ||
		kind >= Kind.FirstJSDocNode && kind <= Kind.LastJSDocNode;
}

// The short names that the packed script gives to functions of Math, at its beginning.
const SHORT = {'Math.abs': '$a', 'Math.floor': '$f', 'Math.max': '$x', 'Math.min': '$n',
	'Math.round': '$r'};

// Returns a tree as text: the kinds of its nodes, and the text of its tokens.
function tree(node) {
	const children = node.getChildren().filter((c) => !isFree(c));

	if (node.kind === Kind.ConstKeyword || node.kind === Kind.LetKeyword)
		return 'let';
	if (node.kind === Kind.PropertyAccessExpression && SHORT[node.getText()])
		return Kind.Identifier + ':' + SHORT[node.getText()];
	if (node.kind === Kind.PrefixUnaryExpression && /^![01]$/.test(node.getText()))
		return node.getText() === '!0' ? Kind.TrueKeyword + ':true' :
			Kind.FalseKeyword + ':false';
	return node.kind + (children.length ? '(' + children.flatMap(treesIn).join(' ') + ')' :
		':' + node.getText());
}

// Returns the trees of a statement: one for each declaration, because let a, b is the same as let
// a; let b.
function treesIn(node) {
	const list = node.kind === Kind.VariableStatement && node.declarationList;

	return !list ? [tree(node)] :
		list.declarations.map((d) => tree(list.getChildAt(0)) + ' ' + tree(d));
}

// Returns the trees of all statements of a module.
const treesOf = (statements) => statements.filter((s) => s.kind !== Kind.ImportDeclaration)
	.flatMap((s) => treesIn(s).map((t) => ({text: s.getText(), tree: t})));

function compare(name, files) {
	const before = files.flatMap((f) => treesOf(parse(readFileSync(f, 'utf8')).statements));
	const made = pack(files), script = parse(made.stdout);
	const after = script.parseDiagnostics.length || made.status ? [] :
		treesOf(script.statements[0].expression.expression.expression.body.statements).slice(2);
	const at = before.findIndex((b, i) => b.tree !== after[i]?.tree);

	const names = Object.entries(SHORT).map(([k, v]) => `${k.slice(5)}:${v}`);
	const begin = `(()=>{'use strict';let{${names}}=Math;`;

	if (made.status)
		console.log(`FAIL ${name}: ${made.stderr}`);
	else if (!made.stdout.startsWith(begin) || before.some((s) => /\$[afxnr]\b/.test(s.text)))
		console.log(`FAIL ${name}: short names aren't those of Math`);
	else if (script.parseDiagnostics.length)
		console.log(`FAIL ${name}: what is made of it can't be parsed: ` +
			made.stdout.substr(script.parseDiagnostics[0].start - 40, 80));
	else if (/<!--|<\/script/.test(made.stdout))
		console.log(`FAIL ${name}: it has what HTML takes for a comment, or for the script's end`);
	else if (at < 0 && before.length === after.length && before.length)
		console.log(`PASS ${name}: ${before.length} statements are the same`);
	else
		console.log(`FAIL ${name}: a statement becomes another: ${after[at]?.text}`);
}

compare('page-pack', process.argv.slice(2));
compare('page-pack hostile', [__dirname + '/packing_hostile.js']);
for (const [name, text] of Object.entries(REFUSED))
	console.log(`${pack([], text).status === 1 ? 'PASS' : 'FAIL'} page-pack refuses ${name}`);
