import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ensurePrograms } from '../tools/programs.mjs';
import { TRUE } from './command-bed.ts';

/* The sandbox-runtime library, which wraps a command in bubblewrap for a shell to run; installed for this bench alone. */

type Peer = { readonly run: () => Promise<void>; readonly close: () => Promise<void> };

type SandboxRuntime = {
  readonly SandboxManager: {
    readonly initialize: (config: object) => Promise<void>;
    readonly wrapWithSandbox: (command: string) => Promise<string>;
    readonly reset: () => Promise<void>;
  };
};

const HOME = join(process.cwd(), 'bench/peers');

/** Installs the peer where it is not there yet; gives the path of a file of it. */
async function installed(file: string): Promise<string> {
  const path = join(HOME, 'node_modules/@anthropic-ai/sandbox-runtime/dist', file);
  if (!existsSync(path)) {
    console.error('installing what commands are compared with (npm ci in bench/peers)');
    execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd: HOME,
      stdio: 'inherit',
    });
  }
  await ensurePrograms(console.error, [
    ['socat', 'socat'],
    ['rg', 'ripgrep'],
  ]);
  return path;
}

/** The command line of the peer, as a script of Node. */
export function peerCommand(): Promise<string> {
  return installed('cli.js');
}

export async function openPeer(workspace: string): Promise<Peer> {
  const entry = await installed('index.js');
  const { SandboxManager }: SandboxRuntime = await import(pathToFileURL(entry).href);
  await SandboxManager.initialize({
    network: { allowedDomains: [], deniedDomains: [] },
    filesystem: { denyRead: [], allowWrite: [workspace], denyWrite: [] },
  });
  return {
    run: async () => runShell(await SandboxManager.wrapWithSandbox(TRUE), workspace),
    close: () => SandboxManager.reset(),
  };
}

function runShell(command: string, cwd: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, { shell: true, cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    child.stdout.resume();
    child.stderr.on('data', (chunk) => {
      said += chunk;
    });
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`Cannot measure the peer: it gave ${code} ${said}`));
    });
  });
}
