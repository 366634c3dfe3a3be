import type { NetworkPlan } from '../network/plan.ts';
import { JAIL_HOME, JAIL_HOST, JAIL_ID } from './root.table.ts';

/** A file that is made up for the jail. */
export type EtcFile = { readonly path: string; readonly text: string };

const NOBODY_ID = 65534;

/** What of the network shows in /etc. */
export type EtcNetwork = { readonly sharesNetwork: boolean; readonly names: NetworkPlan['names'] };

/** The /etc of a jail: one user, one group, this host and the names that lead to doors, and no service to ask for more. */
export function etcFiles({ sharesNetwork, names }: EtcNetwork): readonly EtcFile[] {
  const doors = names.map(({ address, name }) => `${address} ${name}`);
  // Without name servers a name that is in no file does not exist; a program that asked them would try again.
  const hosts = sharesNetwork ? 'hosts: files dns' : 'hosts: files';
  return [
    ...ETC_FILES,
    { path: '/etc/hosts', text: lines(...OWN_HOST, ...doors) },
    { path: '/etc/nsswitch.conf', text: lines(...NAME_SERVICES, hosts) },
  ];
}

const NAME_SERVICES = ['passwd: files', 'group: files', 'shadow: files', 'services: files'];

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
];

function lines(...texts: readonly string[]): string {
  return `${texts.join('\n')}\n`;
}
