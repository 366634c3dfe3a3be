import { rotateKey } from '../../../invoke/administer.ts';
import { principalOf } from '../input.ts';
import type { Invocation } from '../verb.ts';

export async function run(invocation: Invocation): Promise<number> {
  const { print, flags } = invocation;
  const records = await invocation.openRecords();
  try {
    const { from, to } = rotateKey(records, principalOf(invocation), flags.lost === true);
    if (print.json) print.document({ from, to });
    else {
      print.note('rotated', 'green', `  ${to} signs from now on`);
      if (from !== null) print.note(`${from} is retired and still verifies what it signed`);
      print.note('→', 'cyan', ' give verifiers the new keys: palisade keys export');
    }
    return 0;
  } finally {
    await records.close();
  }
}
