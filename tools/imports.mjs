/**
 * Who may import whom. Imports point downward only: a file may use the modules of the levels below its own and, within
 * its own module, anything. Modules on one level do not import each other. Type imports count.
 */
import { readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join, posix } from 'node:path';
import { problem, runAsCommand } from './check.mjs';
import { isCode, listFiles, listPackages, readSource } from './source.mjs';
import { importsOf } from './specifiers.mjs';

const gatewaySource = 'packages/gateway/src/';

/** The modules of the gateway from the bottom up. A path with more segments wins over the module that contains it. */
export const LEVELS = [
  ['core', 'version.ts'],
  // What runs beside guests in an engine process, and the tables that both sides share: nothing of the gateway is in its bundle.
  ['store', 'config', 'telemetry', 'tiers/a-wasm/engine'],
  ['policy', 'egress', 'attest'],
  [
    'approval',
    'budget',
    'journal',
    'vault',
    'storage',
    'channels',
    'recordings',
    'skills',
    'runner',
    'identity',
    'results',
    'sessions',
    'upstreams',
    'packages',
    'oci',
  ],
  ['registry', 'plugins', 'builder', 'notify'],
  ['tiers'],
  // Where a grant runs outside the tiers: the MCP servers behind the gateway.
  ['executors'],
  ['invoke'],
  ['operations'],
  // Builds all of the above; a door opens what it needs through it.
  ['open-parts.ts'],
  ['open.ts'],
  ['doors', 'cluster'],
  // The entries of the program: nothing imports them.
  ['main.ts', 'start'],
];

/** Packages that import nothing but themselves, and so run in a browser as well. */
const CLOSED_PACKAGES = ['sdk', 'wasm'];

/** What their sources import is in the bundle, so npm does not install it beside them. */
const BUNDLED_PACKAGES = ['gateway'];

/** Files that load a module by a name made at run time, each with the reason. */
const COMPUTED = {
  'packages/gateway/src/policy/cedar.ts':
    'It loads the evaluator anew after a crash; its name is a constant.',
  'packages/gateway/src/start/packs.ts':
    'It loads what the packs of this build import; the imports themselves are checked in the sources.',
};

/** The one folder outside the packages that their tests import. */
const VOLUME = 'tests/volume/';

/** Folders outside a package that may look inside the packages. */
const OBSERVERS = ['tests/', 'bench/'];

/** Checks every import of the tree under `root`. */
export function check(root) {
  const problems = [];
  const files = ['packages', 'tests', 'bench', 'tools'].flatMap((folder) => listFiles(root, folder, isCode));
  const manifests = readManifests(root);
  for (const file of files) {
    const source = readSource(root, file);
    const from = placeOf(file);
    if (from.inGateway && !from.module) {
      problems.push(
        problem(
          file,
          0,
          `place file: its module is not in the table of tools/imports.mjs, expected one of ${names()}`,
        ),
      );
    }
    for (const each of importsOf(source)) {
      const message = judgeImport(from, each.specifier, manifests);
      if (message) problems.push(problem(file, each.line, message));
    }
  }
  return { problems, scanned: files.length, unit: 'file' };
}

function names() {
  return LEVELS.flat().join(', ');
}

/** Locates a file: its package, its part of the package (src, test, bin) and its module. */
function placeOf(file) {
  const [top, name, part] = file.split('/');
  const inGateway = file.startsWith(gatewaySource) && !isAmbient(file);
  return {
    file,
    package: top === 'packages' ? name : undefined,
    part: top === 'packages' ? part : top,
    inGateway,
    module: inGateway ? moduleOf(file.slice(gatewaySource.length)) : undefined,
  };
}

function isAmbient(file) {
  return posix.dirname(file) === posix.dirname(`${gatewaySource}x`) && file.endsWith('.d.ts');
}

function moduleOf(path) {
  const candidates = LEVELS.flatMap((modules, level) => modules.map((name) => ({ name, level })));
  return candidates
    .filter(({ name }) => path === name || path.startsWith(`${name}/`))
    .sort((a, b) => b.name.length - a.name.length)[0];
}

function judgeImport(from, specifier, manifests) {
  if (specifier === undefined) {
    return from.part === 'src' && !(from.file in COMPUTED)
      ? 'read import: the specifier is computed, expected a literal'
      : undefined;
  }
  if (/^\.\.?(\/|$)/.test(specifier)) return judgeRelative(from, specifier);
  if (/^([a-z]+:|\/|#)/i.test(specifier) && !specifier.startsWith('node:')) {
    return `import "${specifier}": it is neither relative nor a package, expected one of the two`;
  }
  return judgeBare(from, specifier, manifests);
}

function judgeRelative(from, specifier) {
  const file = posix.join(posix.dirname(from.file), specifier.replace(/[?#].*$/, ''));
  const to = placeOf(file);
  if (file.startsWith('../'))
    return `import "${specifier}": it leaves the project, expected a file of the project`;
  if (from.inGateway && to.inGateway) return judgeRooms(from, to, specifier);
  // How much of a test runs, and on which characters, is decided in one place for all packages.
  if (from.part === 'test' && file.startsWith(VOLUME)) return undefined;
  if (from.package !== undefined && to.package !== from.package) {
    return `import "${specifier}": it leaves the package, expected the other package's name`;
  }
  if (from.part === 'src' && to.part === 'test')
    return `import "${specifier}": source does not know its tests`;
  if (from.package === undefined && to.package && !OBSERVERS.some((folder) => from.file.startsWith(folder))) {
    return `import "${specifier}": only ${OBSERVERS.join(' and ')} may look inside a package`;
  }
  return undefined;
}

function judgeRooms(from, to, specifier) {
  if (!from.module) return undefined;
  if (!to.module) return `import "${specifier}": its module is not in the table of tools/imports.mjs`;
  if (from.module.name === to.module.name || to.module.level < from.module.level) return undefined;
  const where = to.module.level === from.module.level ? 'is on the same level as' : 'is above';
  return `import "${specifier}": ${to.module.name} ${where} ${from.module.name}, expected a module below`;
}

function judgeBare(from, specifier, manifests) {
  const closed = from.part === 'src' && CLOSED_PACKAGES.includes(from.package);
  if (closed) return `import "${specifier}": packages/${from.package} imports nothing outside itself`;
  if (isBuiltin(specifier)) {
    return specifier.startsWith('node:') ? undefined : `import "${specifier}": expected "node:${specifier}"`;
  }
  const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
  const gateway = manifests.packages.get('gateway');
  if (
    name === gateway?.name &&
    from.package !== 'gateway' &&
    !OBSERVERS.some((folder) => from.file.startsWith(folder))
  ) {
    return `import "${specifier}": nothing imports the gateway from outside`;
  }
  if (declaredFor(from, manifests).has(name)) return undefined;
  const manifest = from.package ? `packages/${from.package}/package.json` : 'package.json';
  return `import "${specifier}": ${name} is not declared in ${manifest}`;
}

function declaredFor(from, { root, packages }) {
  const own = packages.get(from.package) ?? {};
  const runtime = { ...own.dependencies, ...own.optionalDependencies, ...own.peerDependencies };
  const bundled = BUNDLED_PACKAGES.includes(from.package) ? own.devDependencies : {};
  if (from.part === 'src') return new Set(Object.keys({ ...runtime, ...bundled }));
  if (from.part === 'bin') return new Set(Object.keys(runtime));
  const workspaces = from.package ? [own.name] : [...packages.values()].map((each) => each.name);
  return new Set([
    ...workspaces,
    ...Object.keys({ ...runtime, ...own.devDependencies, ...root.dependencies, ...root.devDependencies }),
  ]);
}

function readManifests(root) {
  const read = (path) => {
    try {
      return JSON.parse(readFileSync(join(root, path), 'utf8'));
    } catch (error) {
      if (error.code === 'ENOENT') return {};
      throw error;
    }
  };
  const packages = listPackages(root).map((name) => [name, read(`packages/${name}/package.json`)]);
  return { root: read('package.json'), packages: new Map(packages) };
}

await runAsCommand(import.meta.url, 'imports', check);
