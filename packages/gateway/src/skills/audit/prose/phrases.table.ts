/*
 * What words are looked for in prose. A phrase is a row of words, each with its alternatives; `~3` in front of one means
 * that up to three others may stand before it. Words are letters and digits; `|` as a sign is written `pipe`, and so on.
 * A phrase stays within a sentence unless it says `across`.
 */

export type PhraseKind =
  | 'overrides-instructions'
  | 'hides-from-user'
  | 'speaks-as-system'
  | 'pushes-itself'
  | 'shadows-tools'
  | 'leaks-context'
  | 'fetch-and-run'
  | 'locked-archive'
  | 'lowers-guard'
  | 'hidden-text'
  | 'urgency';

export type Phrase = {
  readonly kind: PhraseKind;
  readonly words: string;
  /** It may go over the ends of sentences and paragraphs. */
  readonly across?: true;
  /** Only in what is listed to a model: names, descriptions and schemas. SKILL.md is there to instruct. */
  readonly listedOnly?: true;
};

/** How signs are called in phrases. */
export const SIGNS: ReadonlyMap<string, string> = new Map([
  ['|', 'pipe'],
  ['<', 'less'],
  ['>', 'more'],
  ['$(', 'substitute'],
  ['<(', 'substitute'],
  ['[', 'bracket'],
  ['`', 'tick'],
]);

const FETCH =
  'curl|wget|iwr|irm|aria2c|httpie|webrequest|restmethod|downloadstring|downloadfile|urlopen|urlretrieve';
const SHELL =
  'sh|bash|zsh|dash|ksh|fish|ash|python|python2|python3|perl|ruby|node|php|iex|expression|sudo|osascript|powershell|pwsh|cmd|source|eval|xargs|busybox';
const RULES =
  'instruction|instructions|rule|rules|prompt|prompts|guideline|guidelines|directions|directive|directives|policies|constraints|restrictions|safeguards|guardrails';
const TOOLS = 'tool|tools|skill|skills|function|functions|plugin|plugins';
const CALL = 'call|use|invoke|run|execute|prefer|choose|pick';

export const PHRASES: readonly Phrase[] = [
  {
    kind: 'overrides-instructions',
    words: `ignore|disregard|forget|override|bypass|discard|overrule|neglect ~4 previous|prior|above|earlier|preceding|existing|original|former|all|any|your|system|safety|other ~3 ${RULES}`,
  },
  {
    kind: 'overrides-instructions',
    words: `new|updated|real|actual|true ~1 ${RULES} ~2 follow|follows|below|are|override|replace`,
  },
  {
    kind: 'overrides-instructions',
    words:
      'you are now|no ~1 a|an|the|longer|in ~3 unrestricted|dan|jailbroken|bound|admin|root|developer|free|limited|restricted',
  },
  { kind: 'overrides-instructions', words: 'jailbreak|jailbroken' },
  { kind: 'overrides-instructions', words: `do not|never ~1 follow|obey|apply|heed ~3 ${RULES}` },
  {
    kind: 'hides-from-user',
    words:
      'not|never|dont|without|avoid|cannot ~2 tell|telling|inform|informing|mention|mentioning|reveal|revealing|disclose|disclosing|notify|notifying|alert|alerting|warn|warning|ask|asking ~4 user|users|human|humans|person|operator|anyone|anybody|them',
  },
  { kind: 'hides-from-user', words: 'hide|conceal|keep ~4 from|secret ~2 user|users|human|operator|them' },
  {
    kind: 'hides-from-user',
    words:
      'secretly|silently|covertly|quietly|stealthily ~3 send|sends|call|calls|run|runs|execute|executes|upload|uploads|forward|forwards|post|posts|include|copy|copies|install|installs|exfiltrate',
  },
  {
    kind: 'hides-from-user',
    words: 'user|users|human|operator ~2 not|never ~2 know|notice|see|learn|find|realise|realize|aware',
  },
  { kind: 'speaks-as-system', words: 'system|developer|hidden|initial prompt|prompts' },
  {
    kind: 'speaks-as-system',
    words: 'less important|system|assistant|instructions|instruction|admin|sys|secret|override',
  },
  { kind: 'speaks-as-system', words: 'bracket inst|sys' },
  {
    kind: 'speaks-as-system',
    words: 'less pipe im|imstart|imend|system|user|assistant|endoftext|eot|start|end',
  },
  { kind: 'speaks-as-system', words: 'as|youre|are an|a|the ai|llm|language model|assistant|agent' },
  {
    kind: 'speaks-as-system',
    words: 'assistant|llm|ai|claude|chatgpt|gpt|copilot|gemini must|shall|always|never|should',
    listedOnly: true,
  },
  { kind: 'pushes-itself', words: `always|must|first ~3 ${CALL} ~2 this|me ~1 ${TOOLS}|first|before` },
  {
    kind: 'pushes-itself',
    words: `${CALL} ~3 this|me|it ~3 first|before ~3 any|every|each|anything|all|other|doing|answering|responding|everything`,
  },
  {
    kind: 'pushes-itself',
    words: `before ~2 using|calling|invoking|running|any|every|each ~2 other|another|any|every ~1 ${TOOLS}|call|request|task|action`,
  },
  {
    kind: 'shadows-tools',
    words: `instead ~1 of ~3 other|another|any|the|all|builtin|built|default|native|standard ~4 ${TOOLS}`,
  },
  {
    kind: 'shadows-tools',
    words: `not|never|dont|avoid|stop ~1 use|call|invoke|using|calling|trust ~3 other|another|any|builtin|built|default|native|standard ~3 ${TOOLS}`,
  },
  {
    kind: 'shadows-tools',
    words: `other|another|all|builtin|default|old ~2 ${TOOLS} ~2 deprecated|broken|unsafe|disabled|insecure|obsolete|forbidden|outdated|unreliable|dangerous`,
  },
  {
    kind: 'shadows-tools',
    words: `replaces|supersedes|overrides ~3 other|another|all|builtin|default|native|the ~3 ${TOOLS}`,
  },
  {
    kind: 'leaks-context',
    words:
      'send|include|forward|post|upload|copy|paste|attach|pass|put|append|add|provide|give ~6 conversation|chat|context|transcript|dialogue ~2 history|log|logs|transcript|window|messages|so|above|verbatim|text|contents',
  },
  {
    kind: 'leaks-context',
    words:
      'read|send|include|cat|open|upload|copy|paste|attach|pass|load ~6 ssh|env|dotenv|aws|kubeconfig|netrc|npmrc|keychain|wallet|browser ~3 key|keys|credentials|secrets|file|config|cookies|passwords|seed|tokens|idrsa|ided25519|rsa',
  },
  { kind: 'fetch-and-run', across: true, words: `${FETCH} ~40 pipe ~3 ${SHELL}` },
  { kind: 'fetch-and-run', across: true, words: `${SHELL} ~4 substitute ~3 ${FETCH}` },
  { kind: 'fetch-and-run', across: true, words: `iex|eval|exec ~8 ${FETCH}|webclient|requests|urllib` },
  { kind: 'fetch-and-run', across: true, words: `${FETCH}|requests|urllib ~30 exec|eval|iex` },
  {
    kind: 'fetch-and-run',
    across: true,
    words: `${FETCH}|download|clone|scp ~40 chmod ~3 x|755|777|700|775|a`,
  },
  {
    kind: 'fetch-and-run',
    across: true,
    words: `${FETCH} ~30 run|execute|sudo|bash ~4 it|install|installer|setup|script|binary|file`,
  },
  {
    kind: 'fetch-and-run',
    words: 'download ~8 and|then ~2 run|execute|install|launch|open ~3 it|installer|script|binary|setup',
  },
  {
    kind: 'fetch-and-run',
    across: true,
    words: `base64|b64decode|frombase64string|openssl|xxd|gunzip|zcat ~12 pipe ~3 ${SHELL}`,
  },
  { kind: 'fetch-and-run', across: true, words: `${SHELL} ~4 substitute ~8 base64|xxd` },
  { kind: 'fetch-and-run', across: true, words: 'powershell|pwsh ~8 enc|encodedcommand|bypass|hidden' },
  {
    kind: 'fetch-and-run',
    across: true,
    words: 'certutil|bitsadmin|mshta|regsvr32|rundll32 ~4 urlcache|transfer|http|https|decode|javascript',
  },
  {
    kind: 'fetch-and-run',
    words:
      'npm|pnpm|yarn|bun|pip|pip3|pipx|uv|gem|cargo|go|brew|deno install|i|add|exec|dlx|run|tap ~6 http|https|git|ssh',
  },
  { kind: 'fetch-and-run', words: 'npx|bunx|uvx ~3 http|https|git|github' },
  {
    kind: 'locked-archive',
    across: true,
    words: 'password|passcode|passphrase|pw ~8 zip|rar|7z|7zip|archive|archives|extract|unzip|unpack',
  },
  {
    kind: 'locked-archive',
    across: true,
    words: 'zip|rar|7z|7zip|archive|extract|unzip|unpack ~10 password|passcode|passphrase|pw',
  },
  {
    kind: 'lowers-guard',
    words:
      'disable|deactivate|bypass|uninstall ~4 antivirus|defender|firewall|gatekeeper|selinux|apparmor|sandbox|sandboxing|protection|security|quarantine|approval|approvals|policy|guard',
  },
  {
    kind: 'lowers-guard',
    words:
      'turn|switch off ~4 antivirus|defender|firewall|gatekeeper|selinux|apparmor|sandbox|protection|security|approval|approvals',
  },
  { kind: 'lowers-guard', words: 'xattr ~6 quarantine' },
  { kind: 'lowers-guard', words: 'spctl ~4 disable' },
  {
    kind: 'lowers-guard',
    words:
      'run|execute|call|proceed|continue|act|install|send ~4 without ~2 approval|confirmation|permission|consent|asking',
  },
  { kind: 'hidden-text', words: 'display none' },
  { kind: 'hidden-text', words: 'visibility hidden' },
  { kind: 'hidden-text', words: 'font size 0|0px|0pt' },
  { kind: 'urgency', words: 'urgent|urgently|immediately|asap|hurry|critical|crucial|imperative' },
  { kind: 'urgency', words: 'right|act now|away' },
  { kind: 'urgency', words: 'without|not delay|wait' },
  { kind: 'urgency', words: 'at once' },
];
