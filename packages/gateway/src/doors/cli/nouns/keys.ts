import { requireAdministrator, rotateKey } from '../../../invoke/administer.ts';
import { keyRows } from '../../documents/keys.ts';
import { principalOf } from '../input.ts';
import { withGateway, withRecords } from '../opened.ts';
import { writeOut } from '../out-file.ts';
import type { Invocation } from '../verb.ts';

export async function list(invocation: Invocation): Promise<number> {
  const { print } = invocation;
  return withRecords(invocation, (records) => {
    const keys = keyRows(records.keys);
    return print.result({ keys }, () =>
      print.table(
        ['KEY', 'SIGNS NOW', 'CREATED', 'RETIRED'],
        keys.map(({ keyId, isCurrent, createdAt, retiredAt }) => [
          keyId,
          isCurrent ? 'yes' : 'no',
          createdAt,
          retiredAt ?? '-',
        ]),
      ),
    );
  });
}

export async function exportKeys(invocation: Invocation): Promise<number> {
  return withRecords(invocation, async ({ keys }) => {
    await writeOut(invocation, [keys.export()]);
    return 0;
  });
}

export async function rotate(invocation: Invocation): Promise<number> {
  const { print, flags } = invocation;
  const by = principalOf(invocation);
  const { from, to } =
    flags.lost === true
      ? // Without its signing key the gateway cannot be opened, so no policy can be asked either.
        await withRecords(invocation, (records) => rotateKey(records, by, true))
      : await withGateway(invocation, (gateway) => {
          requireAdministrator(gateway, by, gateway.config.gateway.tenant);
          return rotateKey(gateway, by, false);
        });
  return print.result({ from, to }, () => {
    print.note('rotated', 'green', `  ${to} signs from now on`);
    if (from !== null) print.note(`${from} is retired; receipts that it signed still verify.`);
    print.next('give verifiers the new keys: palisade keys export');
  });
}
