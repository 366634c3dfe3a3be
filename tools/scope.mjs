/**
 * Which names of a file are its own. A name that no enclosing scope declares is a global, whatever it is called; a
 * parameter called `fetch` is not the global `fetch`, and a `declare const` hides nothing because nothing is there.
 */
import { childrenOf } from './source.mjs';

const opensScope =
  /^(Program|BlockStatement|StaticBlock|For(In|Of)?Statement|CatchClause|SwitchStatement|Class(Declaration|Expression)|TSModuleBlock)$/;
const isFunction = /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/;

/** A chain of scopes; `find` gives the meaning of a name, or undefined when it is global. */
export class Scope {
  #names = new Map();
  #outer;

  constructor(outer) {
    this.#outer = outer;
  }

  declare(name, meaning) {
    this.#names.set(name, meaning);
  }

  find(name) {
    return this.#names.get(name) ?? this.#outer?.find(name);
  }
}

/** Opens the scope a node brings, with all its names declared, or gives back the outer one. */
export function enter(node, outer, meaningOfImport) {
  if (!opensScope.test(node.type) && !isFunction.test(node.type)) return outer;
  const scope = new Scope(outer);
  const own = (pattern) => {
    for (const name of boundNames(pattern)) scope.declare(name, { kind: 'local' });
  };
  if (/Expression$/.test(node.type) && node.id) own(node.id);
  if (isFunction.test(node.type)) for (const each of node.params) own(each);
  if (node.type === 'CatchClause' && node.param) own(node.param);
  if (node.type === 'Program' || isFunction.test(node.type)) hoistVars(node, own);
  for (const statement of statementsOf(node)) declareStatement(statement, own, scope, meaningOfImport);
  return scope;
}

function statementsOf(node) {
  if (node.type === 'SwitchStatement') return node.cases.flatMap((each) => each.consequent);
  if (/^For/.test(node.type)) return [node.init ?? node.left].filter(Boolean);
  return Array.isArray(node.body) ? node.body : [];
}

function declareStatement(statement, own, scope, meaningOfImport) {
  const node = /^Export(Named|Default)Declaration$/.test(statement.type) ? statement.declaration : statement;
  if (!node || node.declare) return;
  if (node.type === 'VariableDeclaration') for (const each of node.declarations) own(each.id);
  if (/^(Function|Class|TSEnum)Declaration$/.test(node.type) && node.id) own(node.id);
  if (node.type === 'TSImportEqualsDeclaration') own(node.id);
  if (node.type === 'ImportDeclaration') {
    for (const each of node.specifiers) scope.declare(each.local.name, meaningOfImport(node, each));
  }
}

function hoistVars(node, own) {
  for (const [, child] of childrenOf(node)) {
    if (isFunction.test(child.type)) continue;
    if (child.type === 'VariableDeclaration' && child.kind === 'var' && !child.declare) {
      for (const each of child.declarations) own(each.id);
    }
    hoistVars(child, own);
  }
}

function* boundNames(pattern) {
  if (!pattern) return;
  if (pattern.type === 'Identifier') yield pattern.name;
  if (pattern.type === 'ObjectPattern')
    for (const each of pattern.properties) yield* boundNames(each.value ?? each.argument);
  if (pattern.type === 'ArrayPattern') for (const each of pattern.elements) yield* boundNames(each);
  if (pattern.type === 'AssignmentPattern') yield* boundNames(pattern.left);
  if (pattern.type === 'RestElement') yield* boundNames(pattern.argument);
  if (pattern.type === 'TSParameterProperty') yield* boundNames(pattern.parameter);
}
