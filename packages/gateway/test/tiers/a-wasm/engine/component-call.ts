import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createEngine, WasmError } from '@palisade/wasm';
import { ABI_FUNCTIONS, type AbiName } from '../../../../src/tiers/a-wasm/engine/abi.table.ts';
import { worldHosts } from '../../../../src/tiers/a-wasm/engine/component-handlers.ts';
import { runComponent } from '../../../../src/tiers/a-wasm/engine/guest-pool.ts';
import { newCallContext } from '../../../../src/tiers/a-wasm/engine/handlers.ts';
import type { GatewayPipe } from '../../../../src/tiers/a-wasm/engine/pipe.ts';
import type { CallHead, RequestHead } from '../../../../src/tiers/a-wasm/engine/protocol.ts';
import { linkToWorld, requireGranted } from '../../../../src/tiers/a-wasm/engine/world.ts';
import { sampleHead } from '../sample-engine.ts';

export const ALL_FUNCTIONS: readonly AbiName[] = ABI_FUNCTIONS.map(({ name }) => name);

type GatewayAnswer = { readonly result: number; readonly bytes?: Uint8Array };

/** A gateway in the same thread: what it is asked and told, and what it answers. */
export class Gateway {
  readonly asked: (RequestHead & { readonly texts: readonly string[] })[] = [];
  readonly lines: (readonly [level: number, text: string])[] = [];
  readonly #answers: GatewayAnswer[];

  constructor(...answers: readonly GatewayAnswer[]) {
    this.#answers = [...answers];
  }

  get pipe(): GatewayPipe {
    const pipe: Pick<GatewayPipe, 'send' | 'next'> = {
      send: (kind, head, bytes = new Uint8Array(0)) => {
        const text = Buffer.from(bytes);
        if (kind === 'log') this.lines.push([(head as { level: number }).level, text.toString()]);
        else this.asked.push({ ...(head as RequestHead), texts: cut(text, (head as RequestHead).lengths) });
      },
      next: () => {
        const { result, bytes = new Uint8Array(0) } = this.#answers.shift() ?? { result: 0 };
        return { kind: 'answer', head: { result }, bytes: Buffer.from(bytes) };
      },
    };
    return pipe as GatewayPipe;
  }
}

function cut(bytes: Buffer, lengths: readonly number[]): readonly string[] {
  let at = 0;
  return lengths.map((length) => {
    at += length;
    return bytes.subarray(at - length, at).toString();
  });
}

export function guestBytes(name: string): Uint8Array {
  return readFileSync(resolve(import.meta.dirname, `guests/${name}.component.wasm`));
}

/** What a tool of such a component ends with; its arguments are texts. */
export async function callComponent(
  name: string,
  tool: string,
  args: readonly string[] = [],
  { gateway = new Gateway(), ...changes }: Partial<CallHead> & { readonly gateway?: Gateway } = {},
) {
  const head = sampleHead({ functions: ALL_FUNCTIONS, tool, ...changes });
  const linked = linkToWorld(guestBytes(name));
  requireGranted(linked.imports, head.functions);
  const engine = createEngine({ deterministic: true });
  const hosts = worldHosts(head.functions);
  const compiled = await engine.compile(linked.bytes, { hosts });
  const pool = engine.pool(compiled, { size: 1, hosts });
  const context = newCallContext(head, gateway.pipe);
  const input = Buffer.from(JSON.stringify({ a: args }));
  try {
    const { head: done, bytes } = runComponent(pool, context, input);
    const text = Buffer.from(bytes).toString();
    return { ending: done.ending, output: text === '' ? null : JSON.parse(text), done };
  } catch (error) {
    if (!(error instanceof WasmError)) throw error;
    const { code, detail, usage } = error;
    return { ending: 'trapped', code, detail, usage, isLogCut: context.isLogCut };
  } finally {
    pool.close();
  }
}
