import { policiesDocument } from '../../../operations/policies.ts';
import type { Invocation } from '../verb.ts';

export async function run({ print, openGateway }: Invocation): Promise<number> {
  const gateway = await openGateway();
  try {
    const { set, problems } = gateway.policy;
    if (print.json) {
      print.document(policiesDocument(gateway));
      return 0;
    }
    print.line(set === null ? 'No policy set is live: every call is denied.' : `live set ${set.digest}`);
    print.table(
      ['ID', 'EFFECT', 'FILE'],
      (set?.policies ?? []).map(({ id, effect, file }) => [id, effect, file]),
    );
    if (problems.length > 0)
      print.note('The files have problems and are not live; run `palisade policy check`.', 'yellow');
    return 0;
  } finally {
    await gateway.close();
  }
}
