import { lookup } from 'node:dns/promises';
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import { rootCertificates } from 'node:tls';
import { quote } from '../core/hostile-text.ts';
import { type Address, parseAddress } from './address.ts';
import type { Lookup } from './look-up.ts';
import type { Own } from './resolve.ts';

/** The network interfaces of a machine by their names, as the operating system lists them. */
export type Interfaces = {
  readonly [name: string]: readonly Pick<NetworkInterfaceInfo, 'address'>[] | undefined;
};

/**
 * Asks the operating system for all addresses of a name, in its order, with its hosts file and its name servers. Such a
 * question cannot be taken back: after an abort its answer is dropped.
 */
export const systemLookup: Lookup = async (name, signal) => {
  signal.throwIfAborted();
  const answers = await lookup(name, { all: true, verbatim: true });
  return answers.map(({ address }) => address);
};

/** What this machine is known by at this moment; the interfaces are its own unless others are given. */
export function ownOf(interfaces: Interfaces | undefined, ports: Iterable<number>): Own {
  const listed = Object.values(interfaces ?? networkInterfaces()).flatMap((each) => each ?? []);
  return { addresses: listed.map(({ address }) => readOwn(address)), ports: new Set(ports) };
}

/** An address without the zone that it may have, which says on which interface it is and not where it leads. */
function readOwn(text: string): Address {
  const address = parseAddress(text.replace(/%.*$/s, ''));
  // Boundary: an address of the machine that is not known as such would be open to what it runs.
  if (address === null)
    throw new TypeError(`Cannot list own addresses: ${quote(text)} is none, expected an IP address`);
  return address;
}

/** The certificates of authorities that Node brings along. */
export function nodeCertificates(): string {
  return rootCertificates.join('\n');
}
