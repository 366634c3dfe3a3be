import { CodedError } from '../../../core/coded-error.ts';
import { checkName, formatScope } from '../../../vault/secret.ts';
import { administerVault, scopeOf, unlock } from '../administered-vault.ts';
import type { Invocation } from '../verb.ts';

export async function run(invocation: Invocation): Promise<number> {
  const { args, print } = invocation;
  const [name = ''] = args;
  checkName(name);
  const scope = scopeOf(invocation);
  const where = formatScope(scope);
  return administerVault(invocation, async ({ vault, by }) => {
    if (vault.lockedWith !== null) await unlock(invocation, vault);
    if (!(await vault.remove(name, scope, by))) {
      const message = `Cannot remove the secret "${name}": there is none in the scope "${where}"`;
      throw new CodedError('vault/missing', message, {
        remedy: '`palisade secrets list` shows what there is; name the scope with --scope.',
      });
    }
    if (print.json) print.document({ name, scope: where, removed: true });
    else print.note('removed', 'green', `  ${name} (${where})`);
    return 0;
  });
}
