import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { echoOfExtism } from './module-guests.ts';

const RESET_AFTER = 1_000;

type Plugin = {
  readonly call: (name: string, input: Uint8Array) => Promise<{ bytes: () => Uint8Array } | null>;
  readonly reset: () => Promise<boolean>;
  readonly close: () => Promise<void>;
};
type Extism = { readonly createPlugin: (manifest: object, options: object) => Promise<Plugin> };

export type Peers = {
  /** One plugin for all calls, with what the calls before have left in it. */
  readonly kept: () => Promise<void>;
  /** A plugin for each call, over a module that is compiled. */
  readonly anew: () => Promise<void>;
  /** One plugin for all calls in a thread of its own, which can be ended. */
  readonly apart: () => Promise<void>;
  readonly close: () => Promise<void>;
};

export async function openPeers(input: Uint8Array): Promise<Peers> {
  const { createPlugin } = await installed();
  const manifest = { wasm: [{ module: await WebAssembly.compile(echoOfExtism()) }] };
  const open = (more: object = {}) => createPlugin(manifest, { useWasi: false, ...more });
  const kept = await open();
  const apart = await open({ runInWorker: true });
  const anew = async () => {
    const plugin = await open();
    await echo(plugin);
    await plugin.close();
  };
  const echo = async (plugin: Plugin) => {
    const output = await plugin.call('tool', input);
    if (output?.bytes().length !== input.length)
      throw new Error('Cannot measure the peer: its echo is another');
  };
  const inTurn = (plugin: Plugin) => {
    let calls = 0;
    return async () => {
      calls += 1;
      // It keeps what each call was given, and has no room for more after some ten thousand.
      if (calls % RESET_AFTER === 0) await plugin.reset();
      await echo(plugin);
    };
  };
  const close = async () => {
    await kept.close();
    await apart.close();
  };
  return { kept: inTurn(kept), anew, apart: inTurn(apart), close };
}

async function installed(): Promise<Extism> {
  const home = join(process.cwd(), 'bench/peers');
  const entry = join(home, 'node_modules/@extism/extism/dist/esm/mod.js');
  if (!existsSync(entry)) {
    console.error('installing what modules are compared with (npm ci in bench/peers)');
    const words = ['ci', '--no-audit', '--no-fund', '--loglevel=error'];
    execFileSync('npm', words, { cwd: home, stdio: 'inherit' });
  }
  return import(pathToFileURL(entry).href);
}
