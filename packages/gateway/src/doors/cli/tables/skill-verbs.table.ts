import { type Verb, verbs } from '../verb.ts';
import { AS, CURSOR, LIMIT, OUT, REASON, YES } from './shared-flags.ts';

const EXPIRES = {
  'expires WHEN':
    'When the key expires: a date as 2027-01-31, or a duration as 12h, 90d or 52w (default: never).',
};

const LOGIN = {
  login: 'Read the log-in (USER:PASSWORD) from the terminal or standard input, instead of from the vault.',
};
const ACCEPT_MOVED = { 'accept-moved': 'Accept that the tag stands for something else than before.' };

/** The commands of skill authors, and of the operators who decide which skills run and whose signatures count. */
export const SKILL_VERBS: readonly Verb[] = verbs({
  'skill install FILE|REF': {
    sentence:
      'Install a signed package (a file, - for standard input, or a reference to a registry): it is verified, audited and put into quarantine.',
    flags: {
      'allow-downgrade': 'Accept a version that is older than one that was installed before.',
      ...ACCEPT_MOVED,
      ...LOGIN,
      ...AS,
    },
    examples: [
      'palisade skill install text-1.2.0.skill',
      'palisade skill install - < text-1.2.0.skill',
      'palisade skill install registry.example.com/acme/text:1.2.0',
    ],
    load: async () => (await import('../nouns/skill-install.ts')).install,
  },
  'skill list': {
    sentence: 'List the installed versions of skills with their states.',
    flags: {
      'only STATE':
        'Only this state: ingested, audited, quarantined, approved, active, disabled, failed or revoked.',
      ...LIMIT,
      ...CURSOR,
    },
    examples: ['palisade skill list', 'palisade skill list --only quarantined --json'],
    load: async () => (await import('../nouns/skill-read.ts')).list,
  },
  'skill show ID[@VERSION]': {
    sentence: 'Show a skill: its tools, what it requests, what of it is granted, and who decided.',
    examples: ['palisade skill show acme.text', 'palisade skill show acme.text@1.2.0 --json'],
    load: async () => (await import('../nouns/skill-read.ts')).show,
  },
  'skill diff ID [FILE]': {
    sentence:
      'Compare two versions, or a version and a package: capabilities, quotas, tools and description.',
    flags: {
      'from VERSION': 'The version to start from (default: the active one).',
      'to VERSION': 'The version to compare with (default: the newest other one).',
    },
    examples: [
      'palisade skill diff acme.text',
      'palisade skill diff acme.text text-1.3.0.skill',
      'palisade skill diff acme.text --from 1.1.0 --to 1.2.0',
    ],
    load: async () => (await import('../nouns/skill-read.ts')).diff,
  },
  'skill audit [ID|FILE]': {
    sentence:
      'Audit a skill again, or a package (NAME.skill) without installing it; exits with 2 when the audit fails.',
    flags: {
      'no-tests': 'Inspect only; do not run its test cases.',
      due: 'Audit every skill whose next audit is due.',
      ...AS,
    },
    examples: [
      'palisade skill audit acme.text',
      'palisade skill audit text-1.2.0.skill --json',
      'palisade skill audit --due',
    ],
    load: async () => (await import('../nouns/skill-audit.ts')).audit,
  },
  'skill approve ID[@VERSION]': {
    sentence: 'Approve a version (its exact bytes) with a grant, and enable it.',
    flags: {
      'withhold SPELLING...':
        'Grant everything except this: http=ENTRY, secret=NAME, reveal=NAME, storage, storage:write, storage=PREFIX, channel=NAME[:publish|:receive] or all; may be repeated.',
      'fuel N': 'Less fuel per call than it requests.',
      'memory SIZE': 'Less memory than it requests, as 64k, 16m or 1g.',
      'timeout TIME': 'Less time than it requests, as 500ms, 10s or 2m.',
      'config KEY=VALUE...':
        'A value of its configuration, which is kept when a later version is approved; may be repeated.',
      'allow WHO':
        'Let agents call its tools of medium risk without an approval for each call: agents for all of them, or agent:NAME; the policy is shown first.',
      'no-enable': 'Approve it without enabling it.',
      'accept-findings': 'Accept the warnings of the audit; required with --yes where there are any.',
      ...REASON,
      yes: 'Do not ask for confirmation; requires --reason.',
      ...AS,
    },
    examples: [
      'palisade skill approve acme.text',
      'palisade skill approve acme.text@1.2.0 --withhold http=api.example.com:443 --withhold storage:write --fuel 1000000',
      'palisade skill approve acme.text --allow agents',
      'palisade skill approve acme.text --yes --reason "reviewed in change 42"',
    ],
    load: async () => (await import('../nouns/skill-operate.ts')).approve,
  },
  'skill allow ID[@VERSION]': {
    sentence:
      'Let agents call the tools of medium risk of an approved skill without an approval for each call, by a policy for exactly these bytes and this grant.',
    flags: {
      'to WHO': 'agents for all of them (the default), or one as agent:NAME.',
      remove: 'Remove the policies that this or `skill approve --allow` wrote for the skill.',
      yes: 'Do not ask for confirmation.',
      ...AS,
    },
    examples: [
      'palisade skill allow acme.text',
      'palisade skill allow acme.text --to agent:claude-code',
      'palisade skill allow acme.text --remove',
    ],
    load: async () => (await import('../nouns/skill-allow.ts')).allow,
  },
  'skill quarantine ID[@VERSION]': {
    sentence: 'Stop a skill and withdraw its approval until it is approved again.',
    flags: { ...REASON, ...AS },
    examples: ['palisade skill quarantine acme.text --reason "odd requests"'],
    load: async () => (await import('../nouns/skill-operate.ts')).quarantine,
  },
  'skill enable ID[@VERSION]': {
    sentence: 'Enable an approved version; the version that was active before is disabled.',
    flags: { ...REASON, ...AS },
    examples: ['palisade skill enable acme.text', 'palisade skill enable acme.text@1.1.0'],
    load: async () => (await import('../nouns/skill-operate.ts')).enable,
  },
  'skill disable ID[@VERSION]': {
    sentence: 'Disable a skill; its grant is kept.',
    flags: { ...REASON, ...AS },
    examples: ['palisade skill disable acme.text --reason "not needed now"'],
    load: async () => (await import('../nouns/skill-operate.ts')).disable,
  },
  'skill revoke ID[@VERSION]': {
    sentence:
      'Revoke all versions of a skill, or one, for good and end their running calls; these bytes never run again.',
    flags: { ...REASON, ...YES, ...AS },
    examples: [
      'palisade skill revoke acme.text --reason "the publisher was taken over"',
      'palisade skill revoke acme.text@1.2.0 --reason "leaks its input"',
    ],
    load: async () => (await import('../nouns/skill-operate.ts')).revoke,
  },
  'skill rollback ID': {
    sentence:
      'Return to the version before the newest one, with its grant; an update that is still pending is removed.',
    flags: { ...REASON, ...AS },
    examples: ['palisade skill rollback acme.text --reason "1.2.0 is slow"'],
    load: async () => (await import('../nouns/skill-operate.ts')).rollback,
  },
  'skill remove ID[@VERSION]': {
    sentence: 'Delete a version that is not active, and its package.',
    flags: { ...REASON, ...YES, ...AS },
    examples: ['palisade skill remove acme.text@1.1.0'],
    load: async () => (await import('../nouns/skill-operate.ts')).remove,
  },
  'skill export ID[@VERSION]': {
    sentence: 'Export the exact bytes of an installed package, after its digest was checked.',
    flags: OUT,
    examples: ['palisade skill export acme.text --out text.skill'],
    load: async () => (await import('../nouns/skill-read.ts')).exportSkill,
  },
  'skill new DIR': {
    sentence: 'Create a working skill with two tools and tests, in a new or empty folder.',
    flags: {
      'language LANGUAGE': 'The language: assemblyscript, c, go, javascript, python or rust (required).',
      'publisher NAME': 'The publisher (default: your user name, or the publisher in --id).',
      'id ID': 'The id, as acme.text (default: the publisher and the name of DIR).',
      'name TEXT': 'The display name (default: the name of DIR).',
    },
    examples: [
      'palisade skill new text --language assemblyscript',
      'palisade skill new text --language c --id acme.text --name "Text tools"',
    ],
    load: async () => (await import('../nouns/skill-new.ts')).create,
  },
  'skill check [DIR]': {
    sentence:
      'Check the manifest, the description and the files of a skill; prints each problem with its line.',
    examples: ['palisade skill check', 'palisade skill check text --json'],
    load: async () => (await import('../nouns/skill-author.ts')).check,
  },
  'skill build [DIR]': {
    sentence:
      'Build the modules of a skill; the compiler runs in a jail without network and writes to DIR only.',
    flags: {
      debug:
        'Build modules whose traps name the line of the source; `skill dev` does, and `skill pack` leaves it out.',
      'tools FOLDER': 'Where the compiler is installed, if it is neither in DIR nor next to palisade.',
      ...AS,
    },
    examples: ['palisade skill build', 'palisade skill build text --tools ~/compilers'],
    load: async () => (await import('../nouns/skill-build.ts')).build,
  },
  'skill dev [DIR]': {
    sentence: 'Watch the folder of a skill: build, check and test it again after each change, until Ctrl-C.',
    flags: {
      once: 'One round for the folder as it is; the exit status tells how it ended.',
      'call TOOL': 'Call this tool of the skill after each build that passes the checks.',
      'input JSON': 'The input of --call as JSON, @FILE, or - for standard input (default: {}).',
      'with-capabilities':
        'Grant what it requests, except hosts and secrets, and also run the cases that need it.',
      'tools FOLDER': 'Where the compiler is installed, if it is neither in DIR nor next to palisade.',
      ...AS,
    },
    examples: [
      'palisade skill dev',
      `palisade skill dev text --call count --input '{"text":"two words"}'`,
      'palisade skill dev text --once --json',
    ],
    load: async () => (await import('../nouns/skill-dev.ts')).dev,
  },
  'skill test [DIR|PACKAGE]': {
    sentence:
      'Run the test cases of a skill or a package without any capability; exits with 1 when one fails.',
    flags: {
      'with-capabilities':
        'Grant what it requests, except hosts and secrets, and also run the cases that need it.',
      ...AS,
    },
    examples: ['palisade skill test', 'palisade skill test text-0.1.0.skill --with-capabilities'],
    load: async () => (await import('../nouns/skill-author.ts')).test,
  },
  'skill pack [DIR]': {
    sentence: 'Pack a skill into one file; the same files always give the same bytes.',
    flags: { 'out FILE': 'Write the package to this file (also -o FILE; default: NAME-VERSION.skill).' },
    examples: ['palisade skill pack', 'palisade skill pack text --out text.skill'],
    load: async () => (await import('../nouns/skill-author.ts')).pack,
  },
  'skill sign PACKAGE': {
    sentence: 'Sign a package with the key of its publisher.',
    flags: {
      'key FILE': 'The private key of the publisher (required).',
      'new-key': 'Create that key first, and FILE.pub.json next to it for those who will trust it.',
      'out FILE': 'Write the signed package to this file instead of replacing PACKAGE (also -o FILE).',
    },
    examples: [
      'palisade skill sign text-0.1.0.skill --key acme.key --new-key',
      'palisade skill sign text-0.1.0.skill --key acme.key --out signed.skill',
    ],
    load: async () => (await import('../nouns/skill-author.ts')).sign,
  },
  'skill inspect PACKAGE': {
    sentence: 'Show what a package contains and requests; nothing is run or stored.',
    examples: ['palisade skill inspect text-0.1.0.skill', 'palisade skill inspect text-0.1.0.skill --json'],
    load: async () => (await import('../nouns/skill-author.ts')).inspect,
  },
  'skill push FILE REF': {
    sentence:
      'Push a signed package to an OCI registry (REF is HOST/NAME[:TAG]; the default tag is the version).',
    flags: {
      'move-tag': 'Let the tag stand for this package although it stands for another one.',
      ...LOGIN,
      ...AS,
    },
    examples: [
      'palisade skill push text-1.2.0.skill registry.example.com/acme/text',
      'palisade skill push text-1.2.0.skill localhost:5000/acme/text:stable --move-tag',
    ],
    load: async () => (await import('../nouns/skill-share.ts')).push,
  },
  'skill pull REF': {
    sentence: 'Pull a package from an OCI registry into a file, by tag or by digest; nothing is installed.',
    flags: {
      'out FILE': 'Write the package to this file (also -o FILE; default: NAME-VERSION.skill).',
      ...ACCEPT_MOVED,
      ...LOGIN,
      ...AS,
    },
    examples: [
      'palisade skill pull registry.example.com/acme/text:1.2.0',
      'palisade skill pull registry.example.com/acme/text@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 --out text.skill',
    ],
    load: async () => (await import('../nouns/skill-share.ts')).pull,
  },
  'skill search REGISTRY [WORD]': {
    sentence: 'List the skills of an OCI registry (HOST), or the tags of one repository (HOST/NAME).',
    flags: { ...LOGIN, ...AS },
    examples: [
      'palisade skill search registry.example.com text',
      'palisade skill search registry.example.com/acme/text --json',
    ],
    load: async () => (await import('../nouns/skill-share.ts')).search,
  },
  'trust list [PUBLISHER]': {
    sentence: 'List the keys of publishers: their states, who added them, and when they expire.',
    examples: ['palisade trust list', 'palisade trust list acme --json'],
    load: async () => (await import('../nouns/trust.ts')).list,
  },
  'trust add PUBLISHER KEYFILE': {
    sentence: 'Trust a public key to sign for a publisher, after you compared its fingerprint.',
    flags: { ...EXPIRES, ...YES, ...AS },
    examples: [
      'palisade trust add acme acme.key.pub.json',
      'palisade trust add acme acme.key.pub.json --expires 52w --yes',
    ],
    load: async () => (await import('../nouns/trust.ts')).add,
  },
  'trust revoke KEYID': {
    sentence:
      'Revoke a key (its id, or at least its first 8 digits) for good; the skills that it signed are quarantined.',
    flags: { 'reason TEXT': 'The reason, for the record (required).', ...AS },
    examples: ['palisade trust revoke 3fa9c0d17be2 --reason "the laptop was stolen"'],
    load: async () => (await import('../nouns/trust.ts')).revoke,
  },
  'trust rotate PUBLISHER KEYFILE': {
    sentence:
      'Trust a new key of a publisher; its earlier keys install nothing new, and what they signed keeps running.',
    flags: { ...EXPIRES, ...YES, ...AS },
    examples: ['palisade trust rotate acme acme-2027.key.pub.json --expires 2028-01-31'],
    load: async () => (await import('../nouns/trust.ts')).rotate,
  },
});
