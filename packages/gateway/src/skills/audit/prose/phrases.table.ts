/*
 * Phrases that are searched for in prose. A phrase is a sequence of words, each with its alternatives; `~3` in front of
 * one means that up to three others may stand before it. Words are letters and digits; `|` as a sign is written `pipe`,
 * and so on. A phrase stays within a sentence unless it says `across`.
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
  /** It may cross the ends of sentences and paragraphs. */
  readonly across?: true;
  /** Does not match directly after a word such as "never". */
  readonly unlessDenied?: true;
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
/** Programs that run a file or their standard input and whose name is not a common word. */
const PIPED = 'sh|bash|zsh|dash|ksh|python|python3|perl|ruby|node|php|sudo|pwsh|powershell';
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
    kind: 'overrides-instructions',
    words:
      'ignore|disregard|forget|override ~4 told|instructed|ordered ~2 before|earlier|above|previously|until',
  },
  {
    kind: 'overrides-instructions',
    words: 'ignore|disregard ~2 operator|user|developer ~2 said|says|wants|wishes',
  },
  { kind: 'overrides-instructions', words: 'pay no attention ~4 told|above|before|earlier|instructions' },
  {
    kind: 'overrides-instructions',
    words: `${RULES}|guidance ~2 no longer apply|applies|hold|holds|valid|count`,
  },
  {
    kind: 'overrides-instructions',
    words: `higher|highest|more priority|precedence|important ~3 than|over ~3 ${RULES}`,
  },
  { kind: 'overrides-instructions', words: 'ignore toutes|les|tes ~3 instructions|consignes|regles' },
  // The same in the other languages of Latin letters that are written most.
  {
    kind: 'overrides-instructions',
    words:
      'ignoriere|ignorieren|missachte|vergiss|ignora|ignorez|ignorar|ignoreer|oublie|oubliez|olvida|esquece|dimentica|vergeet ~4 anweisungen|anleitungen|regeln|instrucciones|reglas|instructions|consignes|regles|istruzioni|regole|instrucoes|regras|instructies|regels',
  },
  {
    kind: 'hides-from-user',
    words:
      'not|never|dont|without|avoid|cannot ~2 tell|telling|inform|informing|mention|mentioning|reveal|revealing|disclose|disclosing|notify|notifying|alert|alerting|warn|warning|ask|asking ~4 user|users|human|humans|person|operator|anyone|anybody|them',
  },
  { kind: 'hides-from-user', words: 'hide|conceal|keep ~4 from|secret ~2 user|users|human|operator|them' },
  {
    kind: 'hides-from-user',
    words: 'no need ~2 tell|inform|mention|bother|notify ~4 user|users|human|operator|it|this',
  },
  {
    kind: 'hides-from-user',
    words: 'user|users|human|operator ~1 need|needs|must|should not ~2 told|informed|asked',
  },
  {
    kind: 'hides-from-user',
    words: 'omit|leave|drop|exclude ~4 from|of ~1 your summary|answer|reply|response|report',
  },
  {
    kind: 'hides-from-user',
    words:
      'sage|sag|diga|digas|dis|dites|dire|vertel ~2 dem|al|a|aan|la|le ~1 benutzer|nutzer|usuario|utilisateur|utente|gebruiker',
  },
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
  { kind: 'speaks-as-system', words: 'if you are|re an|a ai|llm|language|assistant|agent' },
  { kind: 'speaks-as-system', words: 'less tool|function result|results|calls|call|response|use' },
  {
    kind: 'speaks-as-system',
    words:
      'note|notice|message|instructions|dear ~1 for|to ~2 ai|llm|llms|agent|agents|assistant|assistants|model|models',
    listedOnly: true,
  },
  {
    kind: 'speaks-as-system',
    words: 'assistant|llm|ai|claude|chatgpt|gpt|copilot|gemini must|shall|always|never|should',
    listedOnly: true,
  },
  { kind: 'pushes-itself', words: `always|must|first ~3 ${CALL} ~2 this|me ~1 ${TOOLS}|first|before` },
  { kind: 'pushes-itself', words: `${CALL} only this|me ~1 ${TOOLS}` },
  {
    kind: 'pushes-itself',
    words: `this ~1 ${TOOLS} ~1 must|should ~1 be called|used|run|invoked ~4 every|each|any|first|always`,
  },
  {
    kind: 'pushes-itself',
    words:
      'begin|start|open|every|each ~2 session|conversation|chat|message|turn|answer ~2 with|by ~1 calling|running|this',
  },
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
      'read|send|include|cat|open|upload|copy|paste|attach|pass|load|set|put|fill|add|provide ~6 ssh|env|dotenv|aws|kubeconfig|netrc|npmrc|keychain|wallet|browser ~3 key|keys|credentials|secrets|file|config|cookies|passwords|seed|tokens|rsa|ed25519',
  },
  { kind: 'leaks-context', words: 'contents|content|read|cat|open|send|include ~3 etc passwd|shadow' },
  {
    kind: 'leaks-context',
    words: 'everything|all|anything ~2 user|users|they ~1 said|wrote|typed|told|asked',
  },
  {
    kind: 'leaks-context',
    words:
      'send|include|forward|pass|put|set|add|attach ~6 all|every|any ~1 previous|prior|earlier|other messages|message|turns|answers',
  },
  {
    kind: 'leaks-context',
    words: 'passwords|tokens|keys|secrets|credentials ~3 you ~2 seen|know|have|find|remember',
  },
  { kind: 'fetch-and-run', across: true, words: `${FETCH} ~40 pipe ~3 ${SHELL}` },
  { kind: 'fetch-and-run', across: true, words: `http|https|nc|ncat|socat ~16 pipe ~2 ${PIPED}` },
  {
    kind: 'fetch-and-run',
    across: true,
    words: `${FETCH} ~8 o|output|outfile|more ~10 ${PIPED}|dpkg|rpm|msiexec`,
  },
  { kind: 'fetch-and-run', across: true, words: `${FETCH} ~12 outfile ~6 start|invoke` },
  { kind: 'fetch-and-run', words: `wget|aria2c ~4 http|https ~10 ${PIPED}|dpkg` },
  { kind: 'fetch-and-run', words: 'base64|b64decode|xxd ~12 more ~4 sh|bash|zsh|python|python3' },
  { kind: 'fetch-and-run', words: 'git|gh clone ~14 make|sh|bash|setup|pip|npm|cargo' },
  { kind: 'fetch-and-run', words: 'npx|bunx|uvx|pipx y|yes' },
  { kind: 'fetch-and-run', words: 'docker|podman run ~6 privileged|host' },
  { kind: 'fetch-and-run', words: 'msiexec|rpm|dpkg|kubectl|helm|ansible|terraform ~6 http|https' },
  { kind: 'fetch-and-run', words: 'dev tcp|udp' },
  { kind: 'fetch-and-run', words: 'fetch ~20 then ~1 eval' },
  { kind: 'fetch-and-run', words: 'eval|exec ~6 open|get|contents ~4 http|https' },
  { kind: 'fetch-and-run', words: 'expression|scriptblock ~4 restmethod|webrequest|irm|iwr' },
  { kind: 'fetch-and-run', words: 'paste|type ~8 terminal|shell|console|powershell' },
  {
    kind: 'fetch-and-run',
    words:
      'http|https|installer|setup ~12 start|run|launch|execute|open|double ~1 it|installer|setup|click|exe',
  },
  {
    kind: 'fetch-and-run',
    words: 'run|execute ~2 command|commands|script ~2 shown|there|from ~2 there|http|https|page|site',
  },
  {
    kind: 'fetch-and-run',
    words:
      'must|first|required|prerequisite|prerequisites|requires|enable ~10 install|download ~8 http|https',
  },
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
  {
    kind: 'fetch-and-run',
    across: true,
    words: 'powershell|pwsh ~8 enc|ec|encodedcommand|nop|bypass|hidden',
  },
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
    unlessDenied: true,
    words:
      'disable|deactivate|bypass|uninstall ~4 antivirus|defender|firewall|gatekeeper|selinux|apparmor|sandbox|sandboxing|protection|security|quarantine|approval|approvals|policy|guard',
  },
  {
    kind: 'lowers-guard',
    unlessDenied: true,
    words:
      'turn|switch off ~4 antivirus|defender|firewall|gatekeeper|selinux|apparmor|sandbox|protection|security|approval|approvals',
  },
  { kind: 'lowers-guard', words: 'xattr ~6 quarantine' },
  { kind: 'lowers-guard', words: 'spctl ~4 disable' },
  { kind: 'lowers-guard', words: 'csrutil disable' },
  { kind: 'lowers-guard', words: 'setenforce 0' },
  { kind: 'lowers-guard', words: 'disablerealtimemonitoring' },
  { kind: 'lowers-guard', words: 'dangerously skip|disable|allow' },
  { kind: 'lowers-guard', words: 'exception|exclusion ~3 defender|antivirus|firewall|gatekeeper' },
  { kind: 'lowers-guard', words: 'approve all|every|any|each ~1 calls|call|requests|request|tools|actions' },
  { kind: 'lowers-guard', words: 'click|press|choose|answer allow|approve|yes ~3 asked|prompted|asks' },
  {
    kind: 'lowers-guard',
    unlessDenied: true,
    words:
      'run|execute|call|proceed|continue|act|install|send ~4 without ~2 approval|confirmation|permission|consent|asking',
  },
  { kind: 'hidden-text', words: 'display none' },
  { kind: 'hidden-text', words: 'visibility hidden' },
  { kind: 'hidden-text', words: 'font size 0|0px|0pt' },
  { kind: 'hidden-text', words: 'font size 1px|1pt|0em|0rem' },
  { kind: 'hidden-text', words: 'style ~6 opacity 0' },
  { kind: 'hidden-text', words: 'style ~6 color white|transparent|fff|ffffff' },
  { kind: 'hidden-text', words: 'less div|span|p|section hidden' },
  { kind: 'hidden-text', words: 'type hidden ~1 value' },
  { kind: 'urgency', words: 'urgent|urgently|immediately|asap|hurry|critical|crucial|imperative' },
  { kind: 'urgency', words: 'right|act now|away' },
  { kind: 'urgency', words: 'without|not delay|wait' },
  { kind: 'urgency', words: 'at once' },
];
