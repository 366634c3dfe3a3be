import { approveUpstream, offerOf, refreshUpstream, showUpstream } from '../../../invoke/upstreams.ts';
import { upstreamDocument } from '../../../operations/upstreams.ts';
import { textOf } from '../input.ts';
import { printUpstream } from '../print-upstream.ts';
import { withGateway } from '../skill/operate/act.ts';
import { confirm, type Question, requireAnswerable } from '../skill/operate/confirm.ts';
import type { Invocation } from '../verb.ts';

/** Accepts what a server offers now, with all of it in front of whoever is asked. */
export async function run(invocation: Invocation): Promise<number> {
  const { args, print } = invocation;
  const [name = ''] = args;
  requireAnswerable(invocation, questionOf(name));
  return withGateway(invocation, async (gateway, { by, tenant }) => {
    const digest = textOf(invocation, 'digest');
    const asker = { principal: by, tenant };
    // What was shown before is accepted as it was shown; otherwise what is offered at this moment.
    const { rule } = showUpstream(gateway, name);
    if (digest === undefined && rule !== null) await refreshUpstream(gateway, name, asker);
    const view = showUpstream(gateway, name);
    const { set } = offerOf(name, view.pin, rule);
    if (!print.json) printUpstream(print, view);
    await confirm(invocation, questionOf(name));
    const accepted = await approveUpstream(gateway, { ...asker, name, shown: digest ?? set.digest });
    if (print.json) print.document(upstreamDocument(accepted));
    else print.note('accepted', 'green', `  ${name}: ${set.definitions.length} tools`);
    return 0;
  });
}

function questionOf(name: string): Question {
  return {
    act: 'accept the upstream server',
    question: 'Type the name of the server to accept what it offers',
    answer: name,
    needs: ['yes'],
  };
}
