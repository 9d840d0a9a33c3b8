package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func readDocs(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The examples of docs/config.md are files that load.
func TestDocumentedExamplesLoad(t *testing.T) {
	var blocks []string
	for _, block := range strings.Split(readDocs(t, "config.md"), "```toml\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		blocks = append(blocks, block)
	}
	if len(blocks) != 2 {
		t.Fatalf("docs/config.md has %d examples, want a config and a session", len(blocks))
	}
	config, err := Parse("config.toml", []byte(blocks[0]), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(config.Tools) != 3 || len(config.Capabilities) != 3 || config.Directory == nil || len(config.Approvers) != 2 || len(config.Mails) != 1 {
		t.Errorf("the example gives %+v", config)
	}
	if base := DefaultLimits(); config.Limits != base {
		t.Errorf("the example shows %+v, the defaults are %+v", config.Limits, base)
	}
	if base := DefaultSession(); config.Session != base {
		t.Errorf("the example shows %+v, the defaults are %+v", config.Session, base)
	}
	without, err := Parse("config.toml", nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, want := config.Audit, without.Audit
	got.Place, got.lines, want.Place, want.lines = Place{}, nil, Place{}, nil
	if !reflect.DeepEqual(got, want) || config.State != without.State {
		t.Errorf("the example shows %+v, %s, the defaults are %+v, %s", got, config.State, want, without.State)
	}
	session, err := ParseSession("session.toml", []byte(blocks[1]))
	if err != nil {
		t.Fatal(err)
	}
	if session.Role != "customer" || len(session.Attributes) != 2 {
		t.Errorf("the example gives %+v", session)
	}
}

// The examples of docs/capabilities.md are parts of files that load.
func TestExamplesOfTheCapabilities(t *testing.T) {
	blocks := strings.Split(readDocs(t, "capabilities.md"), "```toml\n")[1:]
	if len(blocks) != 4 {
		t.Fatalf("docs/capabilities.md has %d examples", len(blocks))
	}
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		if _, err := Parse("config.toml", []byte(block), testOptions()); err != nil {
			t.Errorf("%v in\n%s", err, block)
		}
	}
}

// The faults that docs/config.md shows are those of its own example, misspelt.
func TestDocumentedFaultsAreThoseOfTheExample(t *testing.T) {
	docs := readDocs(t, "config.md")
	_, example, _ := strings.Cut(docs, "```toml\n")
	example, after, _ := strings.Cut(example, "```")
	_, want, _ := strings.Cut(after, "```\n")
	want, _, _ = strings.Cut(want, "\n```")
	example = strings.NewReplacer("{session.customer}", "{session.custmer}", "[tools.get_order.grants]\norders = {", "[tools.get_order.grants]\norder = {").Replace(example)
	if _, err := Parse("config.toml", []byte(example), Options{}); err == nil || err.Error() != want {
		t.Errorf("got\n%v\nthe page has\n%s", err, want)
	}
}

// The codes that docs/capabilities.md says no else may be are those of docs/codes.md.
func TestDocumentedCodesOfTheHost(t *testing.T) {
	var want []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(readDocs(t, "codes.md"), -1) {
		if !slices.Contains(want, row[1]) {
			want = append(want, row[1])
		}
	}
	_, sentence, _ := strings.Cut(readDocs(t, "capabilities.md"), "`else` may be none of the host's own [codes](codes.md): ")
	sentence, _, _ = strings.Cut(sentence, ".\n")
	var got []string
	for _, code := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(sentence, -1) {
		got = append(got, code[1])
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the page names %q, the table of codes %q", got, want)
	}
}

// Where the keys of each section of the grammar are explained: a page, and the
// heading that they stand under. The key is the list as the code has it.
func sectionsOfTheDocs() map[string][2]string {
	return map[string][2]string{
		"host audit limits instances session databases directory approvers mail capabilities values tools replies": {"config.md", "# "},

		"attributes state": {"config.md", "## [host]"},
		"folder key checkpoint_entries checkpoint_time checkpoint_command keep_values warn_free": {"config.md", "## [audit]"},
		"time fuel memory argument_chars result_chars host_calls log":                            {"config.md", "## [limits]"},
		"each memory idle prepare":            {"config.md", "## [instances]"},
		"steps time repeats refusals waiting": {"config.md", "## [session]"},
		"count within":                        {"config.md", "## [session]"},
		"url":                                 {"config.md", "## [databases.NAME]"},
		"database table roles":                {"config.md", "## [directory]"},
		"server security user password":       {"config.md", "## [mail.NAME]"},
		"type roles":                          {"config.md", "## [values.NAME]"},
		"role requester expires":              {"config.md", "## [tools.NAME]"},
		"only":                                {"config.md", "## [tools.NAME]"},
		"id subject tenant role attributes":   {"config.md", "## Session files"},
		"plugin effect callers approve not_available limits instances grants facts rules": {"config.md", "## [tools.NAME]"},

		"kind database table key columns types scope max_rows max_bytes": {"capabilities.md", "## records"},
		"column is else": {"capabilities.md", "## records"},
		"kind root folder scope access max_bytes max_files":        {"capabilities.md", "## files"},
		"kind allow max_bytes time":                                {"capabilities.md", "## fetch"},
		"url methods headers may_echo addresses roots connections": {"capabilities.md", "## fetch"},
		"kind database table row types deliver":                    {"capabilities.md", "## outbox"},
		"fetch method url body tries":                              {"capabilities.md", "## outbox"},
		"mail from to subject text tries":                          {"capabilities.md", "## outbox"},

		"from key sum count where within":             {"rules.md", "# "},
		"column days zone":                            {"rules.md", "# "},
		"name require words reason examples":          {"rules.md", "# "},
		"expect args session facts now":               {"rules.md", "# "},
		"roles schema reply_chars ticket_chars rules": {"replies.md", "# "},
		"expect reply ticket results session":         {"replies.md", "# "},
	}
}

// Every key that the grammar knows stands in the docs, where its section does;
// and no table there has a key that the grammar does not know.
func TestDocumentedKeys(t *testing.T) {
	where, known := sectionsOfTheDocs(), map[[2]string][]string{}
	for _, list := range keysOfTheGrammar(t) {
		section, ok := where[strings.Join(list, " ")]
		if !ok {
			t.Errorf("no page explains the keys %q: say which in sectionsOfTheDocs", list)
			continue
		}
		known[section] = append(known[section], list...)
	}
	for section, keys := range known {
		text := sectionOf(t, section[0], section[1])
		for _, key := range keys {
			if !regexp.MustCompile("(?m)(?:^|[`{ \\[.])" + key + "(?:[` \\].=]|$)").MatchString(text) {
				t.Errorf("%s, %q: the key %s is not there", section[0], section[1], key)
			}
		}
		if section[1] == "# " {
			continue // its tables are of other things too
		}
		for _, row := range keyRow.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(keys, row[1]) {
				t.Errorf("%s, %q: there is no key %s", section[0], section[1], row[1])
			}
		}
	}
}

// keyRow is a row of a table of keys: it has a type.
var keyRow = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| [^|]+ \\| [^|]+ \\|")

// keysOfTheGrammar are the lists of keys that the code holds a section against.
func keysOfTheGrammar(t *testing.T) (lists [][]string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`\.known\(\s*\[\]string\{([^}]*)\}`)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := list.FindAllStringSubmatch(string(text), -1)
		if len(found) != strings.Count(string(text), ".known(") {
			t.Errorf("%s holds keys against something that this test does not see", file)
		}
		for _, m := range found {
			lists = append(lists, strings.Split(strings.ReplaceAll(m[1], `"`, ""), ", "))
		}
	}
	return lists
}

// sectionOf is a page from a heading to the next one of its level.
func sectionOf(t *testing.T, page, heading string) string {
	t.Helper()
	text := "\n" + readDocs(t, page)
	if heading == "# " {
		return text
	}
	_, text, ok := strings.Cut(text, "\n"+heading+"\n")
	if !ok {
		t.Errorf("%s has no heading %q", page, heading)
	}
	level, _, _ := strings.Cut(heading, " ")
	next := regexp.MustCompile("(?m)^#{1," + strconv.Itoa(len(level)) + "} ").FindStringIndex(text)
	if next != nil {
		text = text[:next[0]]
	}
	return text
}

// Every kind of value that a reference can name has its row, and every value of
// an approval.
func TestDocumentedReferences(t *testing.T) {
	source, err := os.ReadFile("template.go")
	if err != nil {
		t.Fatal(err)
	}
	table := sectionOf(t, "config.md", "## The file")
	spaces := regexp.MustCompile(`Space\w+ +Space = "(\w+)"`).FindAllStringSubmatch(string(source), -1)
	if len(spaces) < 8 {
		t.Fatalf("template.go has only the spaces %q", spaces)
	}
	for _, m := range spaces {
		if !strings.Contains(table, "\n| `{"+m[1]+".") {
			t.Errorf("docs/config.md has no row for {%s.x}", m[1])
		}
	}
	for _, field := range approvalFields() {
		if ref := (Ref{Space: SpaceApproval, Name: field}).String(); !strings.Contains(table, "`"+ref+"`") {
			t.Errorf("docs/config.md lacks %s", ref)
		}
	}
}

// The bounds of what approvals are made of stand in the docs as the code has them.
func TestDocumentedBoundsOfApprovals(t *testing.T) {
	rows := []string{
		fmt.Sprintf("| `waiting` | integer | `%d` | 1, %d |", DefaultSession().Waiting, maxWaiting),
		fmt.Sprintf("| `expires` | duration | `%q` | `%q`, `%q` |", showDuration(defaultExpires), showDuration(minExpires), showDuration(maxExpires)),
		fmt.Sprintf("| `tries` | integer, 1 to %d | `%d` |", maxTries, defaultTries),
		fmt.Sprintf("| `row` | table of column = string, at most %d | required |", maxCells),
	}
	pages := readDocs(t, "config.md") + readDocs(t, "capabilities.md")
	for _, row := range rows {
		if !strings.Contains(pages, "\n"+row) {
			t.Errorf("no page has the row %s", row)
		}
	}
	for _, method := range writeMethods() {
		if !strings.Contains(sectionOf(t, "capabilities.md", "## outbox"), "`\""+method+"\"`") {
			t.Errorf("docs/capabilities.md lacks the method %s", method)
		}
	}
}
