import { listUpstreams } from '../../../invoke/upstreams.ts';
import { upstreamSummary } from '../../../operations/upstreams.ts';
import { tellNone } from '../print-upstream.ts';
import type { Invocation } from '../verb.ts';

export async function run({ print, openGateway }: Invocation): Promise<number> {
  const gateway = await openGateway();
  try {
    const all = listUpstreams(gateway);
    if (print.json) print.document({ upstreams: all.map(upstreamSummary) });
    else if (all.length === 0) tellNone(print);
    else {
      print.table(
        ['NAME', 'STATE', 'TIER', 'RISK', 'TOOLS', 'FINDINGS', 'WHY'],
        all.map((view) => {
          const { name, state, tier, risk, tools, findings, reason } = upstreamSummary(view);
          return [name, state, tier ?? '-', risk ?? '-', String(tools), String(findings), reason ?? '-'];
        }),
      );
    }
    if (!print.json && all.some(({ state }) => state === 'unmet'))
      print.note('→', 'cyan', ' start those that are unmet: palisade upstream refresh');
    return 0;
  } finally {
    await gateway.close();
  }
}
