package host

// Code is one row of the table of codes. Codes are an API: scripts, records
// and operators' alarms rely on them.
type Code struct {
	Name  string
	Gate  Gate
	State State
	Means string
	Retry string // whether the same proposal can succeed later
	Fix   string // who can do something about it
	Words string // what the model is told; "" where the contract or the tool's not_available says it
}

// The codes of the host. A scope clause's else names further ones, of the
// caller gate; toolhost check lists them.
const (
	codeTooManySteps     = "too_many_steps"
	codeSessionExpired   = "session_expired"
	codeRepeatedCall     = "repeated_call"
	codeLocked           = "locked"
	codeUnknownTool      = "unknown_tool"
	codeInvalidArgument  = "invalid_argument"
	codeForbidden        = "forbidden"
	codeNotFound         = "not_found"
	codeUnavailable      = "unavailable"
	codeRuleRefused      = "rule_refused"
	codeWriteRefused     = "write_refused"
	codeFileDenied       = "file_denied"
	codeFetchDenied      = "fetch_denied"
	codeWaiting          = "waiting"
	codeTooManyWaiting   = "too_many_waiting"
	codeNoSubject        = "no_subject"
	codeNoRow            = "no_row"
	codeNotWaiting       = "not_waiting"
	codeNotAllowed       = "not_allowed"
	codeFactsChanged     = "facts_changed"
	codePolicyChanged    = "policy_changed"
	codeNotRecorded      = "not_recorded"
	codeNoEffect         = "no_effect"
	codeOvertaken        = "overtaken"
	codeNotWritten       = "not_written"
	codeUnknownEnd       = "unknown_end"
	codeDeadline         = "deadline"
	codeOutOfFuel        = "out_of_fuel"
	codeOutOfMemory      = "out_of_memory"
	codeTooManyHostCalls = "too_many_host_calls"
	codeTrap             = "trap"
	codePluginError      = "plugin_error"
	codeCancelled        = "cancelled"
	codeInvalidResult    = "invalid_result"
	codeResultTooLarge   = "result_too_large"
	codeAuditUnavailable = "audit_unavailable"
)

// WordsUnknownTool is what the model hears of a tool that is not there, or not
// for this role.
const WordsUnknownTool = "There is no tool of that name."

const (
	wordsUnreadable   = "The message could not be read."
	wordsNotAvailable = "Nothing is available for these arguments."
	wordsRules        = "The rules do not allow this."
	wordsUnavailable  = "The tool cannot be used at the moment."
	wordsFailed       = "The tool failed and gave no result."
)

// Codes is the one table; docs/codes.md and a script for each row go with it.
func Codes() []Code {
	return []Code{
		{codeLocked, GateSession, Refused, "as many calls of this tenant and subject were refused within session.refusals.within as may be; whatever is asked, the model hears the same", "after the window", "an operator: session.refusals; the record has what was asked", "No more calls can be made for now."},
		{codeSessionExpired, GateSession, Refused, "the session has lasted for session.time", "no", "the application: a new session", "This session is over; no more calls can be made in it."},
		{codeTooManySteps, GateSession, Refused, "the session has made session.steps calls", "no", "the application: a new session, or session.steps", "This session has made all the calls that it may make."},
		{codeRepeatedCall, GateSession, Refused, "the session has made this very call, the same tool and argument text, session.repeats times", "no", "the model: use the answers it has, or other arguments", "This very call was made before; use its answer, or change the arguments."},
		{codeUnavailable, GateSession, Refused, "the state database cannot be used, so that nobody knows what the session has used up", "yes", "an operator: the state database", wordsUnavailable},
		{codeUnknownTool, GateContract, Refused, "no tool has this name, byte for byte", "no", "the model: use a listed tool", WordsUnknownTool},
		{codeInvalidArgument, GateContract, Refused, "the argument text is not strict JSON, or does not fit the tool's contract; or what came through a door is no proposal", "no", "the model: correct the arguments", ""},
		{codeForbidden, GateCaller, Refused, "the session's role may not use this tool now", "after the role changes", "an operator: callers or the directory", WordsUnknownTool},
		{codeNotFound, GateCaller, Refused, "no row has the key that an argument names", "after the row exists", "the model: another key", ""},
		{codeUnavailable, GateCaller, Refused, "the directory or a table could not be read; of the directory the model hears what it hears of unknown_tool", "yes", "an operator: the database", wordsUnavailable},
		{codeRuleRefused, GateRules, Refused, "a rule of the tool, which reads, is false of this call or could not be decided", "perhaps", "the model: other arguments; the record has the rule and the values", wordsRules},
		{codeWriteRefused, GateRules, Refused, "a rule of the tool, which writes, is false of this call or could not be decided; nothing was written", "perhaps", "the model: other arguments; the record has the rule and the values", wordsRules},
		{codeUnavailable, GateRules, Refused, "a table that rules need could not be read", "yes", "an operator: the database", wordsUnavailable},
		{codeFileDenied, GateCapability, Refused, "a path is not one that a files capability admits for this session: it leads elsewhere, is a link, is no regular file or is not there; or the session has no folder that can be opened", "after the file exists", "the model: another path; the record has the reason", "That file is not available."},
		{codeFetchDenied, GateCapability, Refused, "no allow entry of a fetch capability covers the URL, or the session lacks a value that its headers need", "no", "the model: another URL, or an operator: the allow list", "That address may not be fetched."},
		{codeUnavailable, GateCapability, Refused, "the file system could not be read: too many open files, or an error of the disk", "yes", "an operator: the file system", wordsUnavailable},
		{codeWaiting, GateApproval, Pending, "the write has passed every gate and waits for a person", "gives the same approval", "who may approve", "A person must agree first, and nothing has been done yet; approval_status says what has become of it."},
		{codeTooManyWaiting, GateApproval, Refused, "as many writes of this tenant and subject wait already as session.waiting lets", "after one is decided or expires", "who may approve; session.waiting", "Too many requests wait for a person already."},
		{codeNoSubject, GateApproval, Refused, "the session has no subject, so that nobody can tell whether who approves is who asks", "no", "the application: a session with a subject", wordsUnavailable},
		{codeNoRow, GateApproval, Refused, "the row cannot be made, or could not be delivered: a value is absent, or does not fit its column or its place in a URL or mail", "no", "the model: other arguments; the record has the column", wordsRules},
		{codeUnavailable, GateApproval, Refused, "the proposal could not be kept, or the directory or a table not be read while somebody approved", "yes", "an operator: the database", wordsUnavailable},
		{codeNotWaiting, GateApproval, Refused, "somebody wants to decide what does not wait: there is no such approval, or it was decided, has expired or was overtaken", "no", "the model: propose it again", ""},
		{codeNotAllowed, GateApproval, Refused, "who wants to decide may not: they have asked for it, or do not hold the role now in the tenant of who asked", "no", "somebody else; the directory", ""},
		{codeFactsChanged, GateApproval, Refused, "what is shown has changed since it was agreed to; it waits again, with what it shows now", "after looking again", "who approves", ""},
		{codePolicyChanged, GateApproval, Refused, "the tool's policy is another than when it was proposed, or what was kept of it is not what was kept; it has failed", "no", "the model: propose it again", ""},
		{codeNotRecorded, GateApproval, Refused, "the audit log has no proposal that shows what the approval does, or has its end already: the state database was changed or set back", "no", "the model: propose it again; an operator: who can write the state database", ""},
		{codeDeadline, GatePlugin, Failed, "the guest did not end within limits.time", "perhaps", "the tool's author, or limits.time", "The tool took too long and was stopped."},
		{codeOutOfFuel, GatePlugin, Failed, "the guest used more than limits.fuel", "perhaps", "the tool's author, or limits.fuel", "The tool took too long and was stopped."},
		{codeOutOfMemory, GatePlugin, Failed, "the guest asked for more than limits.memory and ended", "perhaps", "the tool's author, or limits.memory", wordsFailed},
		{codeTooManyHostCalls, GatePlugin, Failed, "the guest made more host calls than limits.host_calls", "no", "the tool's author, or limits.host_calls", wordsFailed},
		{codeTrap, GatePlugin, Failed, "the guest trapped, exited or broke the ABI", "no", "the tool's author", wordsFailed},
		{codePluginError, GatePlugin, Failed, "the guest said that it failed", "perhaps", "the tool's author; the record has the guest's text", wordsFailed},
		{codeCancelled, GatePlugin, Failed, "the caller went away while the guest ran", "yes", "nobody", "The call was cancelled."},
		{codeUnavailable, GatePlugin, Failed, "the host could not do what the guest may ask for: a database that does not answer, a row that is not what its types say; or the module could not be compiled, because its file has changed or is gone", "perhaps", "an operator: the database, the plugin's file", wordsUnavailable},
		{codeInvalidResult, GateResult, Failed, "the guest's result is missing, is not strict JSON or does not fit the contract", "no", "the tool's author", wordsFailed},
		{codeResultTooLarge, GateResult, Failed, "the result is longer than limits.result_chars", "no", "the tool's author, or limits.result_chars", "The result is too large to return; ask for less."},
		{codeNoEffect, GateResult, Failed, "the guest of an approved write ended well and has not asked for its row; nothing was written", "no", "the tool's author", wordsFailed},
		{codeOvertaken, GateResult, Failed, "while the guest of an approved write ran, what its rules rest on has changed, or somebody else has ended it; nothing was written", "perhaps", "who approves", wordsFailed},
		{codeNotWritten, GateResult, Failed, "the row of an approved write could not be written; nothing was", "perhaps", "an operator: the outbox's database and table", wordsFailed},
		{codeUnknownEnd, GateResult, Failed, "the database did not say whether it has the row of an approved write", "no", "an operator: look into the outbox's table for the approval's id", wordsFailed},
		{codeAuditUnavailable, GateAudit, Refused, "the call could not be recorded: no guest starts, or, where only its end could not be, the answer does not leave; of a write that a person has approved: failed, and its row is there", "yes", "an operator: the audit log", wordsUnavailable},
	}
}

// codeRow finds the row of a code at a gate.
func codeRow(gate Gate, name string) (Code, bool) {
	for _, c := range Codes() {
		if c.Gate == gate && c.Name == name {
			return c, true
		}
	}
	return Code{}, false
}

// reservedCodes are the names that no scope clause and no rule of an answer may take.
func reservedCodes() []string {
	names := []string{codeInvalidReply}
	for _, c := range Codes() {
		names = append(names, c.Name)
	}
	return names
}
