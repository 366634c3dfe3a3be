/** What a new state directory starts with: file name → text. Default deny; an operator edits from here. */
export const STARTER_POLICIES: Readonly<Record<string, string>> = {
  '10-calls.cedar': `// Who may call what. A call runs only if at least one permit matches and no forbid does.
// Check your changes with \`palisade policy check\`; they take effect without a restart.

// People may call tools of low and medium risk.
@id("users-call-tools")
permit (principal is User, action == Action::"call", resource)
when { resource.risk == "low" || resource.risk == "medium" };

// Agents may call tools of low risk.
@id("agents-call-low-risk-tools")
permit (principal is Agent, action == Action::"call", resource)
when { resource.risk == "low" };

// A tool of high risk needs a person's approval, no matter who calls it. An approval is a fact about one exact call
// (context.approved); it permits only what a policy like this one says it permits, and a forbid still wins.
@id("high-risk-when-approved")
permit (principal, action == Action::"call", resource)
when { resource.risk == "high" && context.approved };

// A tool of medium risk needs one when an agent or a service calls it.
@id("medium-risk-when-approved")
permit (principal, action == Action::"call", resource)
when { resource.risk == "medium" && context.approved };

// Agents may run commands in the kernel-enforced sandbox (tier C). There a command reaches only the hosts that you allow
// in process.egress_hosts of palisade.toml: none at first. With one of your secrets, it needs a person's approval.
@id("agents-run-commands-in-the-jail")
permit (principal is Agent, action == Action::"call", resource == Tool::"palisade.process.run")
when {
  context.tier == "c" && context has process && context.process.egress == "strict" && context.process.secrets.isEmpty()
};

// Outside that sandbox, or with the network of this machine, a command needs a person's approval, no matter who calls it.
@id("commands-when-approved")
permit (principal, action == Action::"call", resource == Tool::"palisade.process.run")
when { context.approved };

@id("commands-outside-the-jail-need-approval")
forbid (principal, action == Action::"call", resource == Tool::"palisade.process.run")
unless { (context.tier == "c" && context has process && context.process.egress == "strict") || context.approved };

// An MCP server that the operator configured may be started for any caller: a call of one of its tools starts it, and
// each such call is authorized separately, with the risk that the operator configured. The server cannot be called itself.
@id("configured-upstream-servers-start")
permit (principal, action == Action::"call", resource in Category::"upstream")
when { resource.capabilities.contains("upstream-server") };

// Risk is not the only criterion: a long sleep blocks a run, so it needs an approval too.
@id("long-sleep-needs-approval")
forbid (principal, action == Action::"call", resource == Tool::"palisade.sleep")
when { context.input.ms > 10000 }
unless { context.approved };
`,
  '20-people.cedar': `// What people may do besides calling tools. An agent can never approve: the schema has no such request.

@id("users-approve")
permit (principal is User, action == Action::"approve", resource);

// Skills: install, audit, quarantine, approve, enable, disable, revoke and remove them. Agents never can, and only users
// approve: the schema has no other such request.
@id("users-manage-skills")
permit (principal is User, action in Action::"manageSkills", resource);

@id("users-read-the-journal")
permit (principal is User, action == Action::"readJournal", resource);

@id("users-administer")
permit (principal is User, action == Action::"administer", resource);
`,
  '30-guards.cedar': `// Forbids that apply whatever else is permitted.

// No call may reach a cloud metadata service, which hands out credentials to any process that asks.
@id("no-cloud-metadata")
forbid (principal, action == Action::"call", resource)
when { context.hosts.containsAny(["169.254.169.254", "metadata.google.internal"]) };

// A secret that meets a network can leave this machine: an agent needs a person's approval for such a call, whether it is a
// command or a module. Upstream servers have the secrets, the hosts and the risk that you configured for them. Skills have those
// that a reviewer granted, and at least a medium risk with them: \`palisade skill allow\` permits such calls.
@id("secrets-on-a-network-need-approval")
forbid (principal is Agent, action == Action::"call", resource)
when { context.capabilities.containsAll(["SecretsRead", "Network"]) }
unless { resource in Category::"upstream" || resource has skill || context.approved };
`,
  '90-recipes.cedar': `// Recipes. Remove the slashes in front of one to use it; give it an @id of your own.

// By argument: only short sleeps for one agent.
// @id("ada-sleeps-shortly")
// permit (principal == Agent::"ada", action == Action::"call", resource == Tool::"palisade.sleep")
// when { context.input.ms <= 1000 };

// By an argument that only some tools have: guard it with \`has\`.
// @id("no-secrets-folder")
// forbid (principal, action == Action::"call", resource)
// when { context.paths.contains("secrets") };

// By what a call can do, in every tier: an agent stays off the network, and a contractor only computes.
// @id("agents-stay-off-the-network")
// forbid (principal is Agent, action == Action::"call", resource)
// when { context.capabilities.contains("Network") };
// @id("contractors-only-compute")
// forbid (principal in Group::"contractors", action == Action::"call", resource)
// when { context.capabilities.containsAny(["ProcessExec", "Network", "SecretsRead", "FilesystemWrite"]) };

// By tier: no agent leaves the jail, not even with an approval. A call that is denied for this is told to ask for tier c.
// @id("agents-stay-in-the-jail")
// forbid (principal is Agent, action == Action::"call", resource)
// when { context.tier == "b" };

// Tier b does not confine what a program starts, so a shell, an interpreter or a launcher takes a permit of its own there.
// @id("builders-make-in-tier-b")
// permit (principal in Group::"builders", action == Action::"runInterpreter", resource == Tool::"palisade.process.run")
// when { context has process && context.process.executable == "/usr/bin/make" };

// By host: agents may reach only these hosts.
// @id("agents-reach-known-hosts")
// forbid (principal is Agent, action == Action::"call", resource)
// unless { ["api.example.com", "docs.example.com"].containsAll(context.hosts) };

// By device and channel, which the operator gave the credential (\`palisade token create --device build-7\`), never the
// caller. What names none does not have the attribute: ask for it with \`has\`, so that it is refused here.
// @id("agents-work-on-known-devices")
// forbid (principal is Agent, action == Action::"call", resource)
// unless { context has device && ["build-7", "build-8"].contains(context.device) };

// By session, which the gateway made (\`palisade session list\`): this one waits for a person with each of its calls.
// @id("this-session-waits")
// forbid (principal, action == Action::"call", resource)
// when { context has session && context.session == "ses_01k3v9m2x7q4w8e5r6t0y1p3z" }
// unless { context.approved };

// By time of day (UTC) and day of the week (1 is Monday).
// @id("agents-keep-office-hours")
// forbid (principal is Agent, action == Action::"call", resource)
// unless { context.hour >= 8 && context.hour < 18 && context.weekday <= 5 };

// By remaining budget: keep the last 100 calls for people.
// @id("last-calls-are-for-people")
// forbid (principal is Agent, action == Action::"call", resource)
// when { context.budgetLeft.calls <= 100 };

// By group (the table [groups] in palisade.toml lists the members).
// @id("contractors-use-text-tools-only")
// forbid (principal in Group::"contractors", action == Action::"call", resource)
// unless { resource in Category::"text" };

// Four eyes: no one approves their own call.
// @id("four-eyes")
// forbid (principal, action == Action::"approve", resource)
// when { context has askerUser && context.askerUser == principal };

// Four eyes for skills: no one approves a skill that they installed.
// @id("four-eyes-for-skills")
// forbid (principal, action == Action::"approveSkill", resource)
// when { context has installedBy && context.installedBy == principal };

// By the properties of a skill: none is approved that asks for wildcard hosts or has audit warnings.
// @id("no-doubtful-skills")
// forbid (principal, action == Action::"approveSkill", resource)
// when { context.hasWildcards || !context.findings.isEmpty() };

// By publisher: only skills of these publishers are installed.
// @id("skills-of-known-publishers")
// forbid (principal, action in [Action::"install", Action::"approveSkill"], resource)
// unless { ["acme", "example"].contains(resource.publisher) };

// By skill: agents may call the tools of one skill only.
// @id("agents-call-one-skill")
// forbid (principal is Agent, action == Action::"call", resource)
// when { resource has skill }
// unless { resource in Skill::"acme.text" };
`,
};
