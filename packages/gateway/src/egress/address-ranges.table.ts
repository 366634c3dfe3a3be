/** The name of a special range, and what follows "it is" in a message. */
type SpecialRow = readonly [range: string, name: string, sentence: string];

/**
 * Addresses outside the public internet: nothing connects there unless an entry of the allow-list names the address.
 * The first row that has the address counts, so a row precedes the wider ranges that contain it.
 */
export const SPECIAL_RANGES: readonly SpecialRow[] = [
  // Services of the machine's cloud that hand out its credentials or run its configuration.
  [
    '169.254.169.254/32',
    'metadata',
    'the metadata service of most clouds (AWS, Google, Azure, Oracle, OpenStack and others)',
  ],
  ['169.254.170.2/32', 'metadata', 'the credential service of AWS containers'],
  ['169.254.170.23/32', 'metadata', 'the credential service of AWS Kubernetes pods'],
  ['168.63.129.16/32', 'metadata', 'the configuration service of Azure machines'],
  ['100.100.100.200/32', 'metadata', 'the metadata service of Alibaba Cloud'],
  ['192.0.0.192/32', 'metadata', 'the older metadata service of Oracle Cloud'],
  ['169.254.0.23/32', 'metadata', 'the metadata service of Tencent Cloud'],
  ['169.254.42.42/32', 'metadata', 'the metadata service of Scaleway'],
  ['fd00:ec2::254/128', 'metadata', 'the metadata service of AWS'],
  ['fd00:ec2::23/128', 'metadata', 'the credential service of AWS Kubernetes pods'],
  ['fd20:ce::254/128', 'metadata', 'the metadata service of Google Cloud'],
  ['fd00:c1::a9fe:a9fe/128', 'metadata', 'the metadata service of Oracle Cloud'],
  ['fd00:42::42/128', 'metadata', 'the metadata service of Scaleway'],
  ['fe80::a9fe:a9fe/128', 'metadata', 'the metadata service of OpenStack'],

  // IPv4: the registry of special-purpose addresses.
  [
    '0.0.0.0/8',
    'this-network',
    'an address of "this network", which most systems take for themselves (RFC 791)',
  ],
  ['10.0.0.0/8', 'private', 'an address of a private network (RFC 1918)'],
  ['100.64.0.0/10', 'shared', "an address behind a carrier's NAT (RFC 6598)"],
  ['127.0.0.0/8', 'loopback', 'an address of the machine itself (RFC 1122)'],
  ['169.254.0.0/16', 'link-local', 'an address of the local link (RFC 3927)'],
  ['172.16.0.0/12', 'private', 'an address of a private network (RFC 1918)'],
  [
    '192.0.0.0/24',
    'protocol',
    'an address kept for protocols, some of which answer on the local network (RFC 6890)',
  ],
  ['192.0.2.0/24', 'documentation', 'an address for examples (RFC 5737)'],
  ['192.88.99.0/24', 'relay', 'an address of the nearest 6to4 relay, run by a third party (RFC 7526)'],
  ['192.168.0.0/16', 'private', 'an address of a private network (RFC 1918)'],
  ['198.18.0.0/15', 'benchmarking', 'an address for measurements in a laboratory (RFC 2544)'],
  ['198.51.100.0/24', 'documentation', 'an address for examples (RFC 5737)'],
  ['203.0.113.0/24', 'documentation', 'an address for examples (RFC 5737)'],
  ['224.0.0.0/4', 'multicast', 'an address of a group of machines (RFC 5771)'],
  ['255.255.255.255/32', 'broadcast', 'the address of every machine on the local network (RFC 919)'],
  ['240.0.0.0/4', 'reserved', 'an address that is not given out (RFC 1112)'],

  // IPv6: the registry of special-purpose addresses, then what lies outside the one block that is given out.
  ['::/128', 'unspecified', 'no address, which most systems take for themselves'],
  ['::1/128', 'loopback', 'the address of the machine itself (RFC 4291)'],
  ['::/96', 'compatible', 'an IPv4 address in a form that was given up (RFC 4291)'],
  ['64:ff9b:1::/48', 'local-nat64', 'an IPv4 address behind a translator of the local network (RFC 8215)'],
  ['100::/64', 'discard', 'an address whose traffic is thrown away (RFC 6666)'],
  ['2001:2::/48', 'benchmarking', 'an address for measurements (RFC 5180)'],
  ['2001:10::/28', 'orchid', 'a key that is written as an address (RFC 4843)'],
  ['2001:20::/28', 'orchid', 'a key that is written as an address (RFC 7343)'],
  ['2001:db8::/32', 'documentation', 'an address for examples (RFC 3849)'],
  ['2001::/23', 'protocol', 'an address kept for protocols (RFC 2928)'],
  ['3fff::/20', 'documentation', 'an address for examples (RFC 9637)'],
  ['fc00::/7', 'unique-local', 'an address of a private network (RFC 4193)'],
  ['fe80::/10', 'link-local', 'an address of the local link (RFC 4291)'],
  ['fec0::/10', 'site-local', 'an address of a private network in a form that was given up (RFC 3879)'],
  ['ff00::/8', 'multicast', 'an address of a group of machines (RFC 4291)'],
  ['::/3', 'reserved', 'an address that is not given out'],
  ['4000::/2', 'reserved', 'an address that is not given out'],
  ['8000::/1', 'reserved', 'an address that is not given out'],
];

/** A form of IPv6 address that carries an IPv4 address, to which a translator or tunnel forwards the traffic. */
type CarrierRow = {
  readonly range: string;
  /** Where the bits of the IPv4 address are: start and length of each piece. */
  readonly pieces: readonly (readonly [start: number, length: number])[];
  /** The bits are stored flipped. */
  readonly flipped?: true;
  /** The address is judged by what it carries alone; the others are special by their range as well. */
  readonly judgedByContents?: true;
};

const LAST_32 = [[96, 32]] as const;

/** Mapped addresses (`::ffff:0:0/96`) are missing because parseAddress gives the IPv4 address that they are. */
export const CARRIERS: readonly CarrierRow[] = [
  // NAT64: a translator sends it to the IPv4 address in the last 32 bits (RFC 6052).
  { range: '64:ff9b::/96', pieces: LAST_32, judgedByContents: true },
  // 6to4: the packets go inside IPv4 to the address behind the prefix (RFC 3056).
  { range: '2002::/16', pieces: [[16, 32]], judgedByContents: true },
  // Teredo: the packets go inside UDP to the client, whose address is flipped, and the first to the server (RFC 4380).
  { range: '2001::/32', pieces: LAST_32, flipped: true, judgedByContents: true },
  { range: '2001::/32', pieces: [[32, 32]], judgedByContents: true },
  // IPv4-compatible: an automatic tunnel of old systems (RFC 4291).
  { range: '::/96', pieces: LAST_32 },
  // IPv4-translated: a stateless translator uses the last 32 bits (RFC 2765).
  { range: '::ffff:0:0:0/96', pieces: LAST_32 },
  // NAT64 of the local network (RFC 8215), with a prefix of 96 bits or with one of 48 that goes round bits 64 to 71.
  { range: '64:ff9b:1::/48', pieces: LAST_32 },
  {
    range: '64:ff9b:1::/48',
    pieces: [
      [48, 16],
      [72, 16],
    ],
  },
];

/**
 * ISATAP is not a prefix: below any prefix, an interface identifier that begins with one of these 32 bits carries an IPv4
 * address in the 32 bits after it (RFC 5214).
 */
export const ISATAP_MARKS: readonly bigint[] = [0x0000_5efen, 0x0200_5efen];
