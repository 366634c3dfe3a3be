import { requireAdministrator, rotateKey } from '../../../invoke/administer.ts';
import { principalOf } from '../input.ts';
import type { Printer } from '../printer.ts';
import type { Invocation } from '../verb.ts';

export async function run(invocation: Invocation): Promise<number> {
  const by = principalOf(invocation);
  const rotation = invocation.flags.lost === true ? await rotateLost() : await rotate();
  printRotation(invocation.print, rotation);
  return 0;

  async function rotate() {
    const gateway = await invocation.openGateway();
    try {
      requireAdministrator(gateway, by, gateway.config.gateway.tenant);
      return rotateKey(gateway, by, false);
    } finally {
      await gateway.close();
    }
  }

  async function rotateLost() {
    const records = await invocation.openRecords();
    try {
      return rotateKey(records, by, true);
    } finally {
      await records.close();
    }
  }
}

function printRotation(print: Printer, { from, to }: ReturnType<typeof rotateKey>): void {
  if (print.json) {
    print.document({ from, to });
    return;
  }
  print.note('rotated', 'green', `  ${to} signs from now on`);
  if (from !== null) print.note(`${from} is retired and still verifies what it signed`);
  print.note('→', 'cyan', ' give verifiers the new keys: palisade keys export');
}
