/**
 * Links the chunks of a bundle into packs. Splitting gives one chunk for each module, which are more than a thousand; a pack
 * is the chunks that one kind of start needs, in one file. In it each chunk runs when something of it is first used, so that
 * a command runs only the modules that it needs. Packs are scripts, so that they can be compiled from a code cache.
 */
import { createHash } from 'node:crypto';
import { isBuiltin } from 'node:module';
import { dirname, join } from 'node:path/posix';
import { transform } from 'esbuild';

/**
 * The packs in the order in which chunks are given to them: each gets what its modules import, except what a pack before
 * it has, and the last one everything else that is loaded at some time.
 */
export const PACKS = [
  {
    // What a command needs where a daemon makes its call.
    name: 'client',
    modules: [
      'main.ts',
      'doors/cli/nouns/call.ts',
      'doors/cli/nouns/exec.ts',
      'doors/cli/nouns/mcp.ts',
      'doors/http/local-client.ts',
      'doors/http/local-relay.ts',
    ],
  },
  {
    // What a call needs where none does.
    name: 'gateway',
    modules: ['open.ts', 'invoke/invoke.ts', 'policy/engine.ts'],
  },
  // What compares an input with the schema of its tool.
  { name: 'schema', modules: ['registry/schema.ts'] },
  { name: 'mcp', modules: ['doors/mcp/index.ts'] },
  { name: 'rest', modules: [] },
];

const OURS = /^packages\//;

/** Links the files of a build that was split, and gives the text of each pack with its digest, and what they are made of. */
export async function linkPacks({ outputFiles, metafile }, { source, outDir, target }) {
  const chunks = chunksOf(metafile, source);
  const texts = new Map(outputFiles.map(({ path, text }) => [path.slice(outDir.length + 1), text]));
  const functions = await Promise.all(
    [...chunks].map(async ([path, { id, pack }]) => {
      const text = await toFunction(texts.get(path), path, chunks, target);
      return { pack, text: `${JSON.stringify(id)}(exports,module){${text}}` };
    }),
  );
  const packs = PACKS.map(({ name }) => {
    const own = functions.filter(({ pack }) => pack === name).map(({ text }) => text);
    const text = inAscii(
      `(function(require,__lazy,__bundleUrl){"use strict";${HELPERS}return{${own.join(',\n')}}})`,
    );
    return { name, text, sha256: createHash('sha256').update(text).digest('hex') };
  });
  return { packs, inputs: inputsOf(metafile, chunks) };
}

/** The modules that are in the packs; the build was told of more. */
function inputsOf({ inputs, outputs }, chunks) {
  const used = Object.entries(outputs).filter(([path]) => chunks.has(inOut(path)));
  const paths = used.flatMap(([, { inputs: parts }]) => Object.keys(parts));
  return Object.fromEntries(paths.map((path) => [path, inputs[path] ?? {}]));
}

/** What is loaded at some time: the id of each chunk, its pack, and whether it may wait until it is used. */
function chunksOf({ outputs }, source) {
  const relative = ([path, output]) => [inOut(path), output];
  const all = new Map(Object.entries(outputs).map(relative));
  const entries = new Map([...all].map(([path, { entryPoint }]) => [entryPoint, path]));
  const chunks = new Map();
  for (const { name, modules } of PACKS)
    for (const module of modules) give(entries.get(`${source}/${module}`), name, module);
  for (const [path] of chunks)
    for (const other of importsOf(all.get(path), () => true)) give(other, PACKS.at(-1).name);
  return chunks;

  function give(path, pack, module = path) {
    if (path === undefined) throw new Error(`Cannot link the packs: "${module}" is not in the bundle`);
    if (chunks.has(path)) return;
    const { inputs } = all.get(path);
    // Of packages by others it is not known whether something happens when they are run.
    const isLazy = Object.keys(inputs).every((input) => OURS.test(input));
    chunks.set(path, { id: `#${pack}/${path.replace(/\.js$/, '')}`, pack, isLazy });
    for (const other of importsOf(all.get(path), (kind) => kind !== 'dynamic-import')) give(other, pack);
  }
}

function importsOf({ imports }, isWanted) {
  return imports.filter(({ external, kind }) => !external && isWanted(kind)).map(({ path }) => inOut(path));
}

/** Paths in the metafile are relative to the project, and those of the build begin at a folder that is never written. */
function inOut(path) {
  const at = path.indexOf(`${OUT}/`);
  return at === -1 ? path : path.slice(at + OUT.length + 1);
}

/** The name of that folder. */
export const OUT = 'packs.unwritten';

/** The text of a chunk as the body of a function that fills `exports`. */
async function toFunction(text, path, chunks, target) {
  const { code } = await transform(text, {
    ...{ format: 'cjs', platform: 'neutral', target, minifyWhitespace: true, minifySyntax: true },
    ...{ legalComments: 'none', supported: { 'dynamic-import': false } },
  });
  const chunkAt = (specifier) => chunks.get(join(dirname(path), specifier));
  const lazy = new Set();
  const linked = code
    .replace(/^("use strict";)?(?:var __\w+=.*?;)*?var stdin_exports=\{\};/s, 'var stdin_exports=exports;')
    .replace('module.exports=__toCommonJS(stdin_exports);', '')
    .replace(/\b(import_\w+)=require\("(\.[^"]+|node:[^"]+)"\)/g, (all, name, specifier) => {
      const chunk = chunkAt(specifier);
      if (chunk?.isLazy !== true && !isBuiltin(specifier)) return all;
      lazy.add(name);
      return `${name}=__lazy("${chunk?.id ?? specifier}")`;
    })
    // Imported for what it does alone: nothing, if it is ours.
    .replace(/(?<=^|[;}])require\("(\.[^"]+)"\);/g, (all, specifier) =>
      chunkAt(specifier)?.isLazy ? '' : all,
    )
    .replace(/\brequire\("(\.[^"]+)"\)/g, (all, specifier) => {
      const chunk = chunkAt(specifier);
      return chunk === undefined ? all : `require("${chunk.id}")`;
    });
  return linked.replace(/\b(import_\w+)\b(?!=)/g, (name) => (lazy.has(name) ? `(${name}())` : name));
}

/** What the bundler puts in front of each chunk, once for all. */
const HELPERS = `var __create=Object.create,__defProp=Object.defineProperty,__getOwnPropDesc=Object.getOwnPropertyDescriptor,
__getOwnPropNames=Object.getOwnPropertyNames,__getProtoOf=Object.getPrototypeOf,__hasOwnProp=Object.prototype.hasOwnProperty;
var __export=(target,all)=>{for(var name in all)__defProp(target,name,{get:all[name],enumerable:true})};
var __copyProps=(to,from,except,desc)=>{if(from&&typeof from==="object"||typeof from==="function")for(let key of __getOwnPropNames(from))
if(!__hasOwnProp.call(to,key)&&key!==except)__defProp(to,key,{get:()=>from[key],enumerable:!(desc=__getOwnPropDesc(from,key))||desc.enumerable});return to};
var __toESM=(mod,isNodeMode,target)=>(target=mod!=null?__create(__getProtoOf(mod)):{},__copyProps(isNodeMode||!mod||!mod.__esModule?
__defProp(target,"default",{value:mod,enumerable:true}):target,mod));
var __toCommonJS=(mod)=>__copyProps(__defProp({},"__esModule",{value:true}),mod);
`;

/** A file of ASCII alone is read without being decoded. The bundler leaves other characters in regular expressions. */
function inAscii(text) {
  return text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
