import type { NetworkPlan } from '../network/plan.ts';
import { JAIL_HOME, JAIL_HOST, JAIL_ID } from './root.table.ts';

/** A file that is made up for the jail. */
export type EtcFile = { readonly path: string; readonly text: string };

const NOBODY_ID = 65534;

/** The /etc of a jail: one user, one group, this host and the names that lead to doors, and no service to ask for more. */
export function etcFiles(names: NetworkPlan['names']): readonly EtcFile[] {
  const doors = names.map(({ address, name }) => `${address} ${name}`);
  return [...ETC_FILES, { path: '/etc/hosts', text: lines(...OWN_HOST, ...doors) }];
}

const OWN_HOST = [`127.0.0.1 localhost ${JAIL_HOST}`, '::1 localhost ip6-localhost ip6-loopback'];

const ETC_FILES: readonly EtcFile[] = [
  {
    path: '/etc/passwd',
    text: lines(
      'root:x:0:0:root:/nonexistent:/usr/sbin/nologin',
      `palisade:x:${JAIL_ID}:${JAIL_ID}:palisade:${JAIL_HOME}:/bin/sh`,
      `nobody:x:${NOBODY_ID}:${NOBODY_ID}:nobody:/nonexistent:/usr/sbin/nologin`,
    ),
  },
  {
    path: '/etc/group',
    text: lines('root:x:0:', `palisade:x:${JAIL_ID}:`, `nogroup:x:${NOBODY_ID}:`),
  },
  {
    path: '/etc/nsswitch.conf',
    text: lines('passwd: files', 'group: files', 'shadow: files', 'hosts: files dns', 'services: files'),
  },
];

function lines(...texts: readonly string[]): string {
  return `${texts.join('\n')}\n`;
}
