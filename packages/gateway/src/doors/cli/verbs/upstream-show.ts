import { showUpstream } from '../../../invoke/upstreams.ts';
import { upstreamDocument } from '../../../operations/upstreams.ts';
import { printUpstream } from '../print-upstream.ts';
import type { Invocation } from '../verb.ts';

export async function run({ args, print, openGateway }: Invocation): Promise<number> {
  const gateway = await openGateway();
  try {
    const view = showUpstream(gateway, args[0] ?? '');
    if (print.json) print.document(upstreamDocument(view));
    else {
      printUpstream(print, view);
      const { name } = view;
      if (view.state === 'unmet') print.note('→', 'cyan', ` palisade upstream refresh ${name}`);
      if (view.state === 'quarantined') print.note('→', 'cyan', ` palisade upstream approve ${name}`);
    }
    return 0;
  } finally {
    await gateway.close();
  }
}
