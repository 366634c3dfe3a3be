type SpecialRow = {
  readonly range: string;
  readonly name: string;
  /** Follows "it is" in a message. */
  readonly sentence: string;
};

/**
 * Addresses outside the public internet: nothing connects there unless an entry of the allow-list names the address.
 * The first row that has the address counts, so a row precedes the wider ranges that contain it.
 */
export const SPECIAL_RANGES = [
  // Services of the machine's cloud that hand out its credentials or run its configuration.
  {
    range: '169.254.169.254/32',
    name: 'metadata',
    sentence: 'the metadata service of most clouds (AWS, Google, Azure, Oracle, OpenStack and others)',
  },
  {
    range: '169.254.170.2/32',
    name: 'metadata',
    sentence: 'the credential service of AWS containers',
  },
  {
    range: '169.254.170.23/32',
    name: 'metadata',
    sentence: 'the credential service of AWS Kubernetes pods',
  },
  { range: '168.63.129.16/32', name: 'metadata', sentence: 'the configuration service of Azure machines' },
  { range: '100.100.100.200/32', name: 'metadata', sentence: 'the metadata service of Alibaba Cloud' },
  { range: '192.0.0.192/32', name: 'metadata', sentence: 'the older metadata service of Oracle Cloud' },
  { range: '169.254.0.23/32', name: 'metadata', sentence: 'the metadata service of Tencent Cloud' },
  { range: '169.254.42.42/32', name: 'metadata', sentence: 'the metadata service of Scaleway' },
  { range: 'fd00:ec2::254/128', name: 'metadata', sentence: 'the metadata service of AWS' },
  {
    range: 'fd00:ec2::23/128',
    name: 'metadata',
    sentence: 'the credential service of AWS Kubernetes pods',
  },
  { range: 'fd20:ce::254/128', name: 'metadata', sentence: 'the metadata service of Google Cloud' },
  { range: 'fd00:c1::a9fe:a9fe/128', name: 'metadata', sentence: 'the metadata service of Oracle Cloud' },
  { range: 'fd00:42::42/128', name: 'metadata', sentence: 'the metadata service of Scaleway' },
  { range: 'fe80::a9fe:a9fe/128', name: 'metadata', sentence: 'the metadata service of OpenStack' },

  // IPv4: the registry of special-purpose addresses.
  {
    range: '0.0.0.0/8',
    name: 'this-network',
    sentence: 'an address of "this network", which most systems take for themselves (RFC 791)',
  },
  { range: '10.0.0.0/8', name: 'private', sentence: 'an address of a private network (RFC 1918)' },
  { range: '100.64.0.0/10', name: 'shared', sentence: "an address behind a carrier's NAT (RFC 6598)" },
  { range: '127.0.0.0/8', name: 'loopback', sentence: 'an address of the machine itself (RFC 1122)' },
  { range: '169.254.0.0/16', name: 'link-local', sentence: 'an address of the local link (RFC 3927)' },
  { range: '172.16.0.0/12', name: 'private', sentence: 'an address of a private network (RFC 1918)' },
  {
    range: '192.0.0.0/24',
    name: 'protocol',
    sentence: 'an address kept for protocols, some of which answer on the local network (RFC 6890)',
  },
  { range: '192.0.2.0/24', name: 'documentation', sentence: 'an address for examples (RFC 5737)' },
  {
    range: '192.88.99.0/24',
    name: 'relay',
    sentence: 'an address of the nearest 6to4 relay, run by a third party (RFC 7526)',
  },
  { range: '192.168.0.0/16', name: 'private', sentence: 'an address of a private network (RFC 1918)' },
  {
    range: '198.18.0.0/15',
    name: 'benchmarking',
    sentence: 'an address for measurements in a laboratory (RFC 2544)',
  },
  { range: '198.51.100.0/24', name: 'documentation', sentence: 'an address for examples (RFC 5737)' },
  { range: '203.0.113.0/24', name: 'documentation', sentence: 'an address for examples (RFC 5737)' },
  { range: '224.0.0.0/4', name: 'multicast', sentence: 'an address of a group of machines (RFC 5771)' },
  {
    range: '255.255.255.255/32',
    name: 'broadcast',
    sentence: 'the address of every machine on the local network (RFC 919)',
  },
  { range: '240.0.0.0/4', name: 'reserved', sentence: 'an address that is not given out (RFC 1112)' },

  // IPv6: the registry of special-purpose addresses, then what lies outside the one block that is given out.
  { range: '::/128', name: 'unspecified', sentence: 'no address, which most systems take for themselves' },
  { range: '::1/128', name: 'loopback', sentence: 'the address of the machine itself (RFC 4291)' },
  {
    range: '::/96',
    name: 'compatible',
    sentence: 'an IPv4 address in a form that was given up (RFC 4291)',
  },
  {
    range: '64:ff9b:1::/48',
    name: 'local-nat64',
    sentence: 'an IPv4 address behind a translator of the local network (RFC 8215)',
  },
  { range: '100::/64', name: 'discard', sentence: 'an address whose traffic is thrown away (RFC 6666)' },
  { range: '2001:2::/48', name: 'benchmarking', sentence: 'an address for measurements (RFC 5180)' },
  { range: '2001:10::/28', name: 'orchid', sentence: 'a key that is written as an address (RFC 4843)' },
  { range: '2001:20::/28', name: 'orchid', sentence: 'a key that is written as an address (RFC 7343)' },
  { range: '2001:db8::/32', name: 'documentation', sentence: 'an address for examples (RFC 3849)' },
  { range: '2001::/23', name: 'protocol', sentence: 'an address kept for protocols (RFC 2928)' },
  { range: '3fff::/20', name: 'documentation', sentence: 'an address for examples (RFC 9637)' },
  { range: 'fc00::/7', name: 'unique-local', sentence: 'an address of a private network (RFC 4193)' },
  { range: 'fe80::/10', name: 'link-local', sentence: 'an address of the local link (RFC 4291)' },
  {
    range: 'fec0::/10',
    name: 'site-local',
    sentence: 'an address of a private network in a form that was given up (RFC 3879)',
  },
  { range: 'ff00::/8', name: 'multicast', sentence: 'an address of a group of machines (RFC 4291)' },
  { range: '::/3', name: 'reserved', sentence: 'an address that is not given out' },
  { range: '4000::/2', name: 'reserved', sentence: 'an address that is not given out' },
  { range: '8000::/1', name: 'reserved', sentence: 'an address that is not given out' },
] as const satisfies readonly SpecialRow[];

/** A form of IPv6 address that carries an IPv4 address, to which a translator or tunnel forwards the traffic. */
type CarrierRow = {
  readonly range: string;
  /** Where the bits of the IPv4 address are: start and length of each piece. */
  readonly pieces: readonly (readonly [start: number, length: number])[];
  /** The bits are stored flipped. */
  readonly flipped: boolean;
  /** Whether the address is judged by what it carries alone; the others are special by their range as well. */
  readonly judgedByContents: boolean;
  readonly sentence: string;
};

const LAST_32 = [[96, 32]] as const;

/** Mapped addresses (`::ffff:0:0/96`) are missing because parseAddress gives the IPv4 address that they are. */
export const CARRIERS = [
  {
    range: '64:ff9b::/96',
    pieces: LAST_32,
    flipped: false,
    judgedByContents: true,
    sentence: 'NAT64: a translator sends it to the IPv4 address in the last 32 bits (RFC 6052).',
  },
  {
    range: '2002::/16',
    pieces: [[16, 32]],
    flipped: false,
    judgedByContents: true,
    sentence: '6to4: the packets go inside IPv4 to the address behind the prefix (RFC 3056).',
  },
  {
    range: '2001::/32',
    pieces: LAST_32,
    flipped: true,
    judgedByContents: true,
    sentence: 'Teredo: the packets go inside UDP to the client, whose address is flipped (RFC 4380).',
  },
  {
    range: '2001::/32',
    pieces: [[32, 32]],
    flipped: false,
    judgedByContents: true,
    sentence: 'Teredo: the first packets go to the server (RFC 4380).',
  },
  {
    range: '::/96',
    pieces: LAST_32,
    flipped: false,
    judgedByContents: false,
    sentence: 'IPv4-compatible: an automatic tunnel of old systems (RFC 4291).',
  },
  {
    range: '::ffff:0:0:0/96',
    pieces: LAST_32,
    flipped: false,
    judgedByContents: false,
    sentence: 'IPv4-translated: a stateless translator uses the last 32 bits (RFC 2765).',
  },
  {
    range: '64:ff9b:1::/48',
    pieces: LAST_32,
    flipped: false,
    judgedByContents: false,
    sentence: 'NAT64 of the local network, with a prefix of 96 bits (RFC 8215).',
  },
  {
    range: '64:ff9b:1::/48',
    pieces: [
      [48, 16],
      [72, 16],
    ],
    flipped: false,
    judgedByContents: false,
    sentence:
      'NAT64 of the local network, with a prefix of 48 bits that goes round bits 64 to 71 (RFC 6052).',
  },
] as const satisfies readonly CarrierRow[];

/**
 * ISATAP is not a prefix: below any prefix, an interface identifier that begins with one of these 32 bits carries an IPv4
 * address in the 32 bits after it (RFC 5214).
 */
export const ISATAP_MARKS: readonly bigint[] = [0x0000_5efen, 0x0200_5efen];
