import { principalOf } from '../input.ts';
import { withRecords } from '../opened.ts';
import { operate, operateToFile, operationVerb } from '../operate.ts';
import type { Invocation } from '../verb.ts';

export const list = operationVerb(
  'listKeys',
  () => ({}),
  ({ keys }, { print }) =>
    print.table(
      ['KEY', 'SIGNS NOW', 'CREATED', 'RETIRED'],
      keys.map((key) => [key.keyId, key.isCurrent ? 'yes' : 'no', key.createdAt, key.retiredAt]),
    ),
);

export async function exportKeys(invocation: Invocation): Promise<number> {
  await operateToFile(invocation, 'exportKeys', {});
  return 0;
}

export async function rotate(invocation: Invocation): Promise<number> {
  const { print, flags } = invocation;
  const { from, to } =
    flags.lost === true ? await rotateLost(invocation) : await operate(invocation, 'rotateKey', {});
  return print.result({ from, to }, () => {
    print.note('rotated', 'green', `  ${to} signs from now on`);
    if (from !== null) print.note(`${from} is retired; receipts that it signed still verify.`);
    print.next('give verifiers the new keys: palisade keys export');
  });
}

/** Without its signing key the gateway cannot be opened, so that no policy can be asked; no operation does this. */
async function rotateLost(invocation: Invocation) {
  const by = principalOf(invocation);
  const { rotateKey } = await import('../../../invoke/administer.ts');
  return withRecords(invocation, (records) => rotateKey(records, by, true));
}
