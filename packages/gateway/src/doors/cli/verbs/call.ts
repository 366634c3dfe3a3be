import { principalOf, readInput, timeoutOf } from '../input.ts';
import { tellCall } from '../tell-call.ts';
import type { Invocation } from '../verb.ts';

export async function run(invocation: Invocation): Promise<number> {
  const [tool = ''] = invocation.args;
  const timeoutMs = timeoutOf(invocation);
  const principal = principalOf(invocation);
  const rawInput = await readInput(invocation);
  return tellCall(invocation, { principal, tool, rawInput, timeoutMs });
}
