/** What a source file imports: every spelling that makes the loader fetch another module, as data. */
import { stringOf, walk } from './source.mjs';

/**
 * Lists the imports of a parsed file as `{ specifier, line, typeOnly }`. A specifier that only running the program
 * would tell is `undefined`.
 */
export function importsOf(source) {
  const found = [];
  walk(source.tree, (node) => {
    const read = readers[node.type]?.(node);
    if (read) found.push({ typeOnly: false, ...read, line: source.lineAt(node.start) });
  });
  return found;
}

const readers = {
  ImportDeclaration: (node) => ({ specifier: node.source.value, typeOnly: node.importKind === 'type' }),
  ExportAllDeclaration: (node) => ({ specifier: node.source.value, typeOnly: node.exportKind === 'type' }),
  ExportNamedDeclaration: (node) =>
    node.source ? { specifier: node.source.value, typeOnly: node.exportKind === 'type' } : undefined,
  ImportExpression: (node) => ({ specifier: stringOf(node.source) }),
  TSImportType: (node) => ({ specifier: stringOf(node.source ?? node.argument), typeOnly: true }),
  TSImportEqualsDeclaration: (node) =>
    node.moduleReference.type === 'TSExternalModuleReference'
      ? { specifier: stringOf(node.moduleReference.expression), typeOnly: node.importKind === 'type' }
      : undefined,
  CallExpression: (node) => (isRequire(node.callee) ? { specifier: stringOf(node.arguments[0]) } : undefined),
  NewExpression: (node) => {
    // A worker's file is named by a URL, not by an import; it is a dependency all the same.
    if (node.callee.name !== 'URL' || !isImportMeta(node.arguments[1], 'url')) return undefined;
    const specifier = stringOf(node.arguments[0]);
    return specifier && /^\.\.?\/.*\.[cm]?[jt]s$/.test(specifier) ? { specifier } : undefined;
  },
};

function isRequire(callee) {
  if (callee.type === 'Identifier') return callee.name === 'require';
  if (callee.type === 'CallExpression') return callee.callee.name === 'createRequire';
  if (isImportMeta(callee, 'resolve')) return true;
  return (
    callee.type === 'MemberExpression' &&
    callee.object.name === 'require' &&
    callee.property.name === 'resolve'
  );
}

function isImportMeta(node, member) {
  return (
    node?.type === 'MemberExpression' && node.object.type === 'MetaProperty' && node.property.name === member
  );
}
