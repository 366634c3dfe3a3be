import { CODES } from '@palisade/sdk';
import { parseCases, runPolicyTests } from '../../../policy/policy-test.ts';
import { callOf } from '../asked-call.ts';
import { readFileFlag, wrongUsage } from '../input.ts';
import type { Invocation } from '../verb.ts';

export async function run(invocation: Invocation): Promise<number> {
  const { args, edge, print } = invocation;
  const [file = ''] = args;
  const cases = parseCases(decode(await readFileFlag(file), file), file);
  if (cases.length === 0) throw wrongUsage(`Cannot test with "${file}": it has no [[case]]`);
  const gateway = await invocation.openGateway();
  try {
    const { tenant } = gateway.config.gateway;
    const principal = { kind: 'user', name: 'policy-test' } as const;
    const check = (tool: string, rawInput: string) =>
      gateway.registry.check(callOf(edge, { principal, tenant, tool, rawInput }));
    const results = await runPolicyTests(gateway.policy, cases, { check, tenant, nowMs: edge.clock.nowMs() });
    const missed = results.filter(({ passed }) => !passed);
    if (print.json)
      print.document({ passed: results.length - missed.length, failed: missed.length, cases: results });
    else {
      for (const { name, line, passed, expected, actual, message } of results) {
        if (passed) print.styled('green', 'pass', `  ${name}: ${actual}`);
        else
          print.styled(
            'red',
            'MISS',
            `  ${file}:${line} ${name}: expected ${expected}, got ${actual}. ${message}`,
          );
      }
      print.line(`${results.length - missed.length} passed, ${missed.length} failed`);
    }
    return missed.length === 0 ? 0 : CODES['attest/unverified'].exitStatus;
  } finally {
    await gateway.close();
  }
}

function decode(bytes: Uint8Array, file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw wrongUsage(`Cannot read "${file}": it is not UTF-8`);
  }
}
