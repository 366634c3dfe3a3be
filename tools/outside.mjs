/**
 * Checks the table of who may touch the outside. Works on the syntax tree with scopes: a use is a dotted path from a
 * global (`process.env.HOME`, `globalThis['fetch']`, `const { now } = Date`), whatever its spelling; a global that
 * holds powers may not be passed around whole, because then it is unknown which of them are used.
 */
import { problem, runAsCommand } from './check.mjs';
import { MODULES_AS_GLOBALS, OUTSIDE } from './outside.table.mjs';
import { enter } from './scope.mjs';
import { childrenOf, isCode, listFiles, listPackages, readSource, stringOf } from './source.mjs';
import { importsOf } from './specifiers.mjs';

/** Checks the sources of all packages under `root`. */
export function check(root) {
  const files = listPackages(root).flatMap((name) => listFiles(root, `packages/${name}/src`, isCode));
  const problems = files.flatMap((file) => judgeFile(readSource(root, file)));
  return { problems, scanned: files.length, unit: 'file', note: `${OUTSIDE.length} powers` };
}

function judgeFile(source) {
  const problems = [];
  const forbidden = OUTSIDE.filter((row) => !isInHands(row, source.path));
  const report = (row, line, what) => {
    const hands = Object.keys(row.hands);
    const expected = hands.length > 0 ? `expected it only in ${hands.join(', ')}` : 'expected it nowhere';
    problems.push(problem(source.path, line, `use ${what} here: ${expected}. ${row.why}`));
  };
  for (const { specifier, line, typeOnly } of importsOf(source)) {
    const name = specifier?.startsWith('node:') ? specifier : `node:${specifier}`;
    const row = forbidden.find(({ modules }) =>
      modules.some((each) => name === each || name.startsWith(`${each}/`)),
    );
    if (row && !typeOnly) report(row, line, `"${specifier}"`);
  }
  for (const use of usesOf(source.tree)) {
    const row = forbidden.find((each) => touches(each, use));
    if (row) report(row, source.lineAt(use.node.start), describe(row, use));
  }
  return problems;
}

function isInHands(row, file) {
  return Object.keys(row.hands).some((hand) => {
    const place = hand.startsWith('packages/') ? hand : `packages/gateway/src/${hand}`;
    return file === place || file.startsWith(`${place}/`) || file.replace(/\.ts$/, '') === place;
  });
}

function touches(row, { path, whole, made }) {
  if (made) return row.constructs?.includes(path) ?? false;
  if (row.members.some((member) => path === member || path.startsWith(`${member}.`))) return true;
  if (!whole) return false;
  return (
    path === 'globalThis' ||
    row.constructs?.includes(path) ||
    row.members.some((each) => each.startsWith(`${path}.`))
  );
}

function describe(row, { path, made }) {
  if (made) return `${path}()`;
  return row.members.some((member) => path === member || path.startsWith(`${member}.`))
    ? path
    : `${path} as a value`;
}

/**
 * Lists the uses of globals in a tree: `path` is what is used, `whole` says that it is used as a value or with a member
 * only running would tell, `made` that it is called or constructed with nothing (`new Date()`, `Function('…')`).
 */
function usesOf(tree) {
  const uses = [];
  const visit = (node, parent, key, outer) => {
    if (isTypeOnly(node) || isNameOnly(parent, key)) return;
    const scope = enter(node, outer, meaningOfImport);
    uses.push(...usesAt(node, parent, key, scope));
    for (const [childKey, child] of childrenOf(node)) visit(child, node, childKey, scope);
  };
  visit(tree, undefined, '', undefined);
  return uses;
}

function usesAt(node, parent, key, scope) {
  if (/^(Import|Export)/.test(node.type) && node.source && node.type !== 'ImportExpression')
    return usesOfImport(node);
  if (/^(Call|New)Expression$/.test(node.type) && memberName(node.callee) === 'constructor') {
    return [{ node, path: 'Function', made: true }];
  }
  const path = pathOf(node, scope);
  if (path === undefined || extendsPath(parent, key)) return [];
  const pattern = patternFor(parent, key);
  if (pattern) return usesOfPattern(pattern, path);
  if (isHarmless(path, parent)) return [];
  if (/^(Call|New)Expression$/.test(parent?.type) && key === 'callee' && !path.includes('.')) {
    const dated = path === 'Date' && parent.type === 'NewExpression' && parent.arguments.length > 0;
    return dated && parent.arguments[0].type !== 'SpreadElement' ? [] : [{ node, path, made: isMade(path) }];
  }
  return [{ node, path, whole: true }];
}

function isMade(path) {
  return OUTSIDE.some((row) => row.constructs?.includes(path));
}

/** Follows an expression to the global it starts from; undefined when it does not start from one. */
function pathOf(node, scope) {
  if (!node) return undefined;
  if (node.type === 'Identifier') {
    const meaning = scope.find(node.name);
    if (meaning) return meaning.path;
    return /^(globalThis|global|self|window)$/.test(node.name) ? 'globalThis' : node.name;
  }
  if (node.type === 'MemberExpression') {
    const object = pathOf(node.object, scope);
    const member = memberName(node);
    if (object === undefined || member === undefined) return undefined;
    return join(object, member);
  }
  if (node.type === 'ImportExpression') return MODULES_AS_GLOBALS[stringOf(node.source)];
  if (node.type === 'CallExpression' && node.callee.name === 'require') {
    return MODULES_AS_GLOBALS[stringOf(node.arguments[0])];
  }
  const inner = innerOf(node);
  return inner ? pathOf(inner, scope) : undefined;
}

function join(object, member) {
  if (member === 'default' || member === 'webcrypto') return object;
  if (object !== 'globalThis') return `${object}.${member}`;
  return /^(globalThis|global|self|window)$/.test(member) ? 'globalThis' : member;
}

function memberName(node) {
  if (node?.type !== 'MemberExpression') return undefined;
  return node.computed ? stringOf(node.property) : node.property.name;
}

const wrappers = new Set([
  'ChainExpression',
  'ParenthesizedExpression',
  'AwaitExpression',
  'TSAsExpression',
  'TSSatisfiesExpression',
  'TSNonNullExpression',
  'TSTypeAssertion',
  'TSInstantiationExpression',
]);

function innerOf(node) {
  return wrappers.has(node.type) ? (node.expression ?? node.argument) : undefined;
}

/** A part of a longer path is judged with the whole of it. */
function extendsPath(parent, key) {
  if (!parent) return false;
  if (wrappers.has(parent.type)) return key === 'expression' || key === 'argument';
  return parent.type === 'MemberExpression' && key === 'object' && memberName(parent) !== undefined;
}

function patternFor(parent, key) {
  const [left, right] =
    parent?.type === 'VariableDeclarator'
      ? [parent.id, 'init']
      : /^Assignment(Pattern|Expression)$/.test(parent?.type)
        ? [parent.left, 'right']
        : [];
  return key === right && left.type === 'ObjectPattern' ? left : undefined;
}

function usesOfPattern(pattern, path) {
  return pattern.properties.flatMap((each) => {
    const name =
      each.type === 'Property'
        ? each.computed
          ? stringOf(each.key)
          : (each.key.name ?? each.key.value)
        : undefined;
    if (name === undefined) return [{ node: each, path, whole: true }];
    const value = each.value.type === 'AssignmentPattern' ? each.value.left : each.value;
    const member = join(path, name);
    return value.type === 'ObjectPattern'
      ? usesOfPattern(value, member)
      : [{ node: each, path: member, whole: true }];
  });
}

/** Asking whether a global is there does not use it; asking about one of its members reads that member. */
function isHarmless(path, parent) {
  if (path.includes('.')) return false;
  if (parent?.type === 'UnaryExpression') return parent.operator === 'typeof';
  return parent?.type === 'BinaryExpression' && /^(instanceof|in|[!=]==?)$/.test(parent.operator);
}

function isTypeOnly(node) {
  if (node.declare || node.importKind === 'type' || node.exportKind === 'type') return true;
  return (
    node.type.startsWith('TS') &&
    !wrappers.has(node.type) &&
    !/^TS(ParameterProperty|Enum|Module|ExportAss)/.test(node.type)
  );
}

function isNameOnly(parent, key) {
  if (!parent || parent.computed) return false;
  if (key === 'label' || /^(Import.*Specifier|MetaProperty)$/.test(parent.type)) return true;
  if (parent.type === 'ExportSpecifier') return key === 'exported';
  return (key === 'property' && parent.type === 'MemberExpression') || key === 'key';
}

function meaningOfImport(declaration, specifier) {
  const root = MODULES_AS_GLOBALS[declaration.source.value];
  if (!root || declaration.importKind === 'type') return { kind: 'local' };
  const path = specifier.imported ? join(root, specifier.imported.name ?? specifier.imported.value) : root;
  // A member imported by name was judged at its import; judging each use again would only repeat it.
  return path.includes('.') ? { kind: 'local' } : { kind: 'import', path };
}

function usesOfImport(node) {
  const root = MODULES_AS_GLOBALS[node.source.value];
  if (!root) return [];
  if (node.type === 'ExportAllDeclaration') return [{ node, path: root, whole: true }];
  return node.specifiers.flatMap((each) => {
    const name = each.imported ?? (node.type === 'ExportNamedDeclaration' ? each.local : undefined);
    if (!name) return [];
    return [{ node: each, path: join(root, name.name ?? name.value) }];
  });
}

await runAsCommand(import.meta.url, 'outside', check);
