/**
 * The imports of the guest libraries, written from the table of host functions: one declaration for each function, in
 * each language. A parameter `x` followed by `xLength` is bytes, which the host fills if it is called `place`.
 */

/** As the sources of the languages are formatted. */
const LONGEST_LINE = { assemblyScript: 110, c: 120 };

const ASSEMBLY_SCRIPT = { i32: 'i32', f64: 'f64', address: () => 'usize', length: 'usize', none: 'void' };
const RUST = {
  ...{ i32: 'i32', f64: 'f64', length: 'usize' },
  address: (isFilled) => (isFilled ? '*mut u8' : '*const u8'),
};
const GO = { i32: 'int32', f64: 'float64', address: () => 'unsafe.Pointer', length: 'uint32' };
const C = {
  ...{ i32: 'int32_t', f64: 'double', length: 'uint32_t', none: 'void' },
  address: (isFilled) => (isFilled ? 'uint8_t' : 'const uint8_t'),
};

/** Functions that act on a capability, in AssemblyScript; the others have names of the library itself. */
export function assemblyScriptOfHandles(functions) {
  return assemblyScript(functions.filter(takesCapability));
}

/** The functions that `assemblyScriptOfHandles` leaves out. */
export function assemblyScriptOfOthers(functions) {
  return assemblyScript(functions.filter((row) => !takesCapability(row)));
}

/** What stands in the module of imports, in Rust. */
export function rust(functions) {
  const lines = functions.map(({ name, params, result }) => {
    const words = typed(params, RUST).map(([param, type]) => `${snakeCase(param)}: ${type}`);
    return `        pub fn ${name}(${words.join(', ')})${result === null ? '' : ` -> ${RUST[result]}`};`;
  });
  return lines.join('\n');
}

/** The functions of the package of imports, in Go. */
export function go(functions) {
  const lines = functions.map(({ name, params, result }) => {
    const words = typed(params, GO).map(([param, type]) => `${param} ${type}`);
    const start = `func ${pascalCase(name)}(${words.join(', ')})`;
    return `//go:wasmimport palisade_v1 ${name}\n${start}${result === null ? '' : ` ${GO[result]}`}`;
  });
  // The first stands apart from the mark, which else would be a part of its comment.
  return `\n${lines.join('\n\n')}\n`;
}

/** The prototypes, in C. */
export function c(functions) {
  return functions.map(prototype).join('\n');
}

function prototype({ name, params, result }) {
  const words = typed(params, C).map(([param, type]) =>
    type.endsWith('uint8_t') ? `${type} *${snakeCase(param)}` : `${type} ${snakeCase(param)}`,
  );
  const start = `${C[result ?? 'none']} palisade_v1_${name}(`;
  const line = `${start}${words.join(', ') || 'void'});`;
  const attribute = `PALISADE_IMPORT(${name})`;
  if (`${attribute} ${line}`.length <= LONGEST_LINE.c) return `${attribute} ${line}`;
  return `${attribute}\n${wrapped(start, words)});`;
}

/** Parameters that are continued below the first one where a line is full. */
function wrapped(start, words) {
  const lines = [start];
  for (const [index, word] of words.entries()) {
    const piece = index < words.length - 1 ? `${word},` : word;
    const line = lines.at(-1);
    const isFirst = line.endsWith('(') || line.trim() === '';
    if (line.length + piece.length + 1 <= LONGEST_LINE.c)
      lines[lines.length - 1] += isFirst ? piece : ` ${piece}`;
    else lines.push(' '.repeat(start.length) + piece);
  }
  return lines.join('\n');
}

function assemblyScript(functions) {
  return functions.map(declaration).join('\n');
}

function declaration({ name, params, result }) {
  const words = typed(params, ASSEMBLY_SCRIPT).map(([param, type]) => `${param}: ${type}`);
  const [start, end] = [`export declare function ${name}(`, `): ${ASSEMBLY_SCRIPT[result ?? 'none']};`];
  const line = `${start}${words.join(', ')}${end}`;
  if (line.length <= LONGEST_LINE.assemblyScript) return line;
  return [start, ...words.map((word) => `  ${word},`), end].join('\n');
}

function takesCapability({ params }) {
  return ['handle', 'kind'].includes(params[0]?.[0]);
}

/** Each parameter with its type in a language: an address, a length, or a number. */
function typed(params, types) {
  const names = new Set(params.map(([name]) => name));
  return params.map(([name, type]) => {
    if (names.has(`${name}Length`)) return [name, types.address(name === 'place')];
    if (name.endsWith('Length') && names.has(name.slice(0, -'Length'.length))) return [name, types.length];
    return [name, types[type]];
  });
}

function pascalCase(name) {
  return name.replace(/(?:^|_)([a-z])/g, (_, letter) => letter.toUpperCase());
}

function snakeCase(name) {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
