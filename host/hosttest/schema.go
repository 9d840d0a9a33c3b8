package hosttest

// The tables that the config of the root names, for the databases of tests:
// empty, and looser than the demo's, so that a test can put anything in them.
const (
	DeskSchema = `
CREATE TABLE orders (order_id TEXT NOT NULL PRIMARY KEY, tenant TEXT, customer_id TEXT, status TEXT, ordered_on TEXT,
	shipped_on TEXT, delivered_on TEXT, shipping_fee TEXT, total TEXT, currency TEXT, items TEXT) STRICT;
CREATE TABLE people (subject TEXT, tenant TEXT, role TEXT);
CREATE TABLE documents (doc_id TEXT NOT NULL PRIMARY KEY, tenant TEXT, title TEXT, body TEXT) STRICT;
CREATE TABLE customers (customer_id TEXT NOT NULL PRIMARY KEY, tenant TEXT, name TEXT, email TEXT) STRICT;
CREATE TABLE refunds (refund_id TEXT NOT NULL PRIMARY KEY, order_id TEXT, amount TEXT, tenant TEXT, approved_by TEXT) STRICT;
CREATE TABLE emails (email_id TEXT NOT NULL PRIMARY KEY, customer_id TEXT, tenant TEXT, recipient TEXT, subject TEXT, body TEXT) STRICT;
CREATE TABLE labels (label_id TEXT NOT NULL PRIMARY KEY, order_id TEXT, tenant TEXT) STRICT;
`
	NoticesSchema = `
CREATE TABLE notices (id TEXT NOT NULL PRIMARY KEY, owner_id TEXT NOT NULL, published_on TEXT NOT NULL, content TEXT NOT NULL) STRICT;
`
	LeaveSchema = `
CREATE TABLE demandes (id TEXT NOT NULL PRIMARY KEY, employe_id TEXT, date_debut TEXT, date_fin TEXT, type_conge TEXT, demandeur TEXT) STRICT;
CREATE TABLE annulations (id TEXT NOT NULL PRIMARY KEY, demande_id TEXT, demandeur TEXT) STRICT;
`
)
