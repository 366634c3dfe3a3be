/** Why a host call of a guest is denied, what that means, and what the operator can do about it. */

export type DenialRow = {
  readonly sentence: string;
  /** For an installed skill; SKILL is its id. */
  readonly remedy: string;
  /** For a module that is tried without being installed. */
  readonly tried: string;
  /** The sentence for such a module, where it is another one. */
  readonly triedSentence?: string;
};

const REVIEW = 'run `palisade skill quarantine SKILL`, then `palisade skill approve SKILL`';
const GRANT =
  'Run `palisade skill test` or `dev` with --with-capabilities, or `palisade wasm run` with --grant (docs/abi.md lists the forms).';
const AUTHOR = 'Report it to the author of the skill.';

export const DENIALS = {
  'not-granted': {
    sentence: 'The tool was not granted this function.',
    remedy: 'Check what was granted with `palisade skill show SKILL`.',
    tried: GRANT,
  },
  'unknown-handle': {
    sentence: 'The handle is not one of this call.',
    remedy: AUTHOR,
    tried: 'Get handles from capability_handle, by the position in what was requested.',
  },
  withheld: {
    sentence: 'The operator withheld it.',
    triedSentence: 'This call has no grant of it.',
    remedy: `To grant it, ${REVIEW} without the --withhold for it.`,
    tried: GRANT,
  },
  'host-not-allowed': {
    sentence: 'The allow-list entry behind the handle does not allow this request.',
    remedy: `${AUTHOR} A new version has to request the host in http_egress_allowlist.`,
    tried: 'Request the host in http_egress_allowlist, and use the handle of its entry.',
  },
  'secret-not-for-host': {
    sentence: 'The secret is not for that host.',
    remedy:
      'Check the hosts of the secret with `palisade skill show SKILL` and in [[secret]] of palisade.toml.',
    tried: 'Name the host in the hosts of the secret, and in http_egress_allowlist.',
  },
  'secret-missing': {
    sentence: 'The vault has no value for the secret.',
    remedy:
      'Set it with `palisade secrets set NAME --scope SCOPE`; `palisade skill show SKILL` has its scope.',
    tried: 'Set it with `palisade secrets set NAME`; test cases get no secrets.',
  },
  'secret-not-readable': {
    sentence: 'The secret may be sent, but not read.',
    remedy: `If it was requested with use = "reveal", ${REVIEW} without --withhold reveal=NAME.`,
    tried: 'Request it with use = "reveal", or send it in a request without reading it.',
  },
  'outside-prefixes': {
    sentence: 'No prefix of the storage that was granted covers the key.',
    remedy: 'Check the prefixes with `palisade skill show SKILL`.',
    tried: 'Request the prefix in filesystem.read_roots or write_roots.',
  },
  'read-only': {
    sentence: 'The storage at this key may be read, but not written.',
    remedy: `If it requests write_roots there, ${REVIEW} without --withhold storage:write.`,
    tried: 'Request the prefix in filesystem.write_roots.',
  },
  'channel-direction': {
    sentence: 'The channel was not granted in this direction.',
    remedy: `If it was requested, ${REVIEW} without --withhold channel=NAME.`,
    tried: 'Request publish or receive for the channel.',
  },
  quota: {
    sentence: 'A quota is used up.',
    remedy:
      'Check limits.egress_bytes of palisade.toml, and what the skill stores; the call continued without it.',
    tried: 'Make fewer or smaller requests in one call.',
  },
} as const satisfies Readonly<Record<string, DenialRow>>;

export type DenialWhy = keyof typeof DENIALS;
