/* The installers of packages: what is written to their staging directory, and how they are started in it. */
import { existsSync, mkdirSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CodedError } from '../../../core/coded-error.ts';
import type { RegistryKind } from '../../../packages/runners.table.ts';
import type { Registry } from './registry.ts';

export type Installer = {
  readonly command: string;
  /** The arguments of each step; an installer that cannot resolve by itself has one step. */
  readonly steps: { readonly install: readonly string[] } & Readonly<
    Partial<Record<InstallStep, readonly string[]>>
  >;
  /** What a jail has to be shown besides the system. */
  readonly readOnly: readonly string[];
};

/** Everything at once; or, where a person is asked in between: what there is to install, and then exactly that. */
export const INSTALL_STEPS = ['install', 'resolve', 'install-resolved'] as const;
export type InstallStep = (typeof INSTALL_STEPS)[number];

type Job = { readonly staging: string; readonly packages: readonly string[]; readonly registry: Registry };

/** In the staging directory: what is kept, and the report of pip. */
export const TREE = 'tree';
export const REPORT = 'report.json';
const AUTHORITIES = 'authorities.pem';

/** Writes what the installer reads and says how to start it. Scripts of packages never run. */
export function layOut(kind: RegistryKind, job: Job): Installer {
  const { staging, registry } = job;
  if (registry.authorities !== null) writeFileSync(join(staging, AUTHORITIES), registry.authorities);
  return kind === 'npm' ? layOutNpm(job) : layOutPip(job);
}

function layOutNpm({ staging, packages, registry }: Job): Installer {
  // Npm writes the name into the tree; without one it takes that of the directory, and every fetch had its own digest.
  writeFileSync(join(staging, 'package.json'), '{ "name": "packages", "private": true }\n');
  const lines = [
    `registry=${registry.url}`,
    ...registry.scopes.map(([scope, url]) => `${scope}:registry=${url}`),
    'ignore-scripts=true',
    'audit=false',
    'fund=false',
    'update-notifier=false',
    'bin-links=false',
    'fetch-retries=1',
    'git=false',
    `cache=${join(staging, '.cache')}`,
    ...(registry.authorities === null ? [] : [`cafile=${join(staging, AUTHORITIES)}`]),
  ];
  writeFileSync(join(staging, '.npmrc'), `${lines.join('\n')}\n`);
  const node = realpathSync(process.execPath);
  const npm = findNpm(node);
  const run = (...words: readonly string[]) => [join(npm, 'bin/npm-cli.js'), ...words, '--ignore-scripts'];
  const steps = {
    install: run('install', ...packages),
    resolve: run('install', '--package-lock-only', ...packages),
    'install-resolved': run('ci'),
  };
  return { command: node, steps, readOnly: [node, npm].filter((path) => !path.startsWith('/usr/')) };
}

/** The folder of npm: that of the running node, or the system's. */
function findNpm(node: string): string {
  const folders = [join(dirname(node), '..'), '/usr', '/usr/local'].flatMap((prefix) => [
    join(prefix, 'lib/node_modules/npm'),
    join(prefix, 'share/nodejs/npm'),
  ]);
  const found = folders.find((folder) => existsSync(join(folder, 'bin/npm-cli.js')));
  if (found !== undefined) return realpathSync(found);
  throw new CodedError(
    'package/fetch-failed',
    `Cannot fetch: npm is not installed, expected it beside "${node}"`,
    {
      remedy: 'Install npm.',
    },
  );
}

function layOutPip({ staging, packages, registry }: Job): Installer {
  const { protocol, host } = new URL(registry.url);
  // Pip wants to be told that an address without TLS is meant; the operator named it.
  const trusted = protocol === 'http:' ? [`--trusted-host ${host}`] : [];
  const lines = [`--index-url ${registry.url}`, ...trusted, ...packages];
  writeFileSync(join(staging, 'requirements.txt'), `${lines.join('\n')}\n`);
  const quiet = [
    '--isolated',
    '--no-input',
    '--disable-pip-version-check',
    '--no-cache-dir',
    '--retries',
    '1',
  ];
  const trust = registry.authorities === null ? [] : ['--cert', AUTHORITIES];
  // A source distribution runs code of the package to be built; a wheel is only unpacked.
  const install = ['install', '--only-binary', ':all:', '--no-compile', '--target', TREE, '--report', REPORT];
  const args = ['-m', 'pip', ...quiet, ...trust, ...install, '--requirement', 'requirements.txt'];
  // Pip downloads whole wheels to learn what they require, so it does not resolve by itself.
  return { command: 'python3', steps: { install: args }, readOnly: [] };
}

/** Brings what the installer left into one directory, and gives its path. */
export function gather(kind: RegistryKind, staging: string): string {
  const tree = join(staging, TREE);
  if (kind === 'npm') {
    mkdirSync(tree);
    renameSync(join(staging, 'node_modules'), join(tree, 'node_modules'));
  }
  return tree;
}
