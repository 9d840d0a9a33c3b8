package main

import (
	"context"
	"database/sql"
)

// The help documents of the demo's two shops, which search_docs searches.
const documentsSchema = `
CREATE TABLE documents (
	doc_id TEXT NOT NULL PRIMARY KEY,
	tenant TEXT NOT NULL,
	title  TEXT NOT NULL,
	body   TEXT NOT NULL
) STRICT;
CREATE INDEX documents_by_tenant ON documents (tenant);
`

type demoDocument struct{ id, tenant, title, body string }

func fillDocuments(ctx context.Context, db *sql.DB) error {
	for _, d := range append(larkfieldDocuments(), brambleDocuments()...) {
		if _, err := db.ExecContext(ctx, "INSERT INTO documents VALUES (?, ?, ?, ?)", d.id, d.tenant, d.title, d.body); err != nil {
			return err
		}
	}
	return nil
}

func larkfieldDocuments() []demoDocument {
	const shop = "larkfield"
	return []demoDocument{
		{
			"HD-LK-01", shop, "Sending something back",
			`Everything but cut plants can come back within 30 days of delivery. Look up the order, make a return label and send it to the customer; the parcel goes back at our cost if we were wrong, and at theirs if they changed their mind.`,
		},
		{
			"HD-LK-02", shop, "Broken or missing parts",
			`Ask for a photo and keep it with the ticket. A chair leg, a hinge or a pane is sent again without a return. For a whole piece that arrived broken, offer a new one or the money.`,
		},
		{
			"HD-LK-03", shop, "Giving money back",
			`A refund goes to the card of the first payment and takes 3 to 5 working days. All refunds together are never more than what was paid. Staff may propose up to 100 dollars; beyond, an owner must. Every refund waits for a second person.`,
		},
		{
			"HD-LK-04", shop, "How long delivery takes",
			`Parcels reach most of the country in 2 to 5 working days and the north in 10. Sheds and other freight come on a day that the carrier agrees by phone. Standard shipping is 9.95 and free above 300 dollars.`,
		},
		{
			"HD-LK-05", shop, "Putting up the garden shed",
			`Two people need an afternoon. Choose a level place and lay the floor on gravel or slabs, never on soil, which holds water against the wood. Lay all parts out and hold them against the list on the first page of the manual before anything is screwed together. ` +
				`Begin with the back wall and one side; a third hand or a rope keeps them upright until the corner is fixed. Then come the other side, the front with its frame, and the roof from the lower edge up. Leave a finger's width between roof and wall so that air can pass. ` +
				`Hang the door last, when the walls have settled for a day: if it rubs, loosen the lower hinge and lift it by the thickness of a coin. ` +
				`Oil the wood in its first autumn and every second year after that. The warranty of 5 years covers rot only where the shed stands free of the ground.`,
		},
		{
			"HD-LK-06", shop, "Étiquettes de retour",
			`Le retour est gratuit si l'article est arrivé abîmé. Imprimez l'étiquette et collez-la sur le carton d'origine. Sans imprimante, le bureau de poste l'imprime à partir du code reçu par courriel.`,
		},
		{"HD-LK-07", shop, "退货说明", `收到商品后30天内可以退货，鲜切植物除外。请先联系我们领取退货标签，再把包裹交给邮局。商品若在运输中损坏，运费由我们承担。`},
		{"HD-LK-08", shop, "配送与运费", `一般包裹需要2到5个工作日，北部地区最多10个工作日。标准运费为9.95加元，满300加元免运费。花园木屋等大件由货运公司电话预约送货日期。`},
	}
}

func brambleDocuments() []demoDocument {
	const shop = "bramble"
	return []demoDocument{
		{
			"HD-BB-01", shop, "Returning books",
			`An unread book can come back within 14 days. Send a return label with the order's number on it. Signed copies and sealed boxes that were opened stay with the customer.`,
		},
		{
			"HD-BB-02", shop, "Damaged in the post",
			`Bent corners are the carrier's fault, not the reader's: ask for one photo in the ticket and send a new copy the same day. The damaged one need not come back.`,
		},
		{
			"HD-BB-03", shop, "E-books and audio",
			`A file that does not open is sent again in the other format. After the download there is no refund, unless the wrong title was delivered.`,
		},
		{
			"HD-BB-04", shop, "Gift cards",
			`A gift card is valid for 3 years and pays for anything but another card. What is left on it stays on it. A refund of something that was bought with a card goes back to the card.`,
		},
		{
			"HD-BB-05", shop, "Not yet published",
			`A book that is still to come is charged on the day it leaves us. Until then the order can be changed or ended without a reason.`,
		},
		{
			"HD-BB-06", shop, "Schools and libraries",
			`Invoices are due in 30 days. Ten copies or more of one title have a discount of 15 percent, and delivery is free.`,
		},
		{
			"HD-BB-07", shop, "Retours de livres",
			`Un livre non lu peut revenir dans les 14 jours. À l'étranger, les frais de retour restent à la charge du client.`,
		},
		{
			"HD-BB-08", shop, "Cartes-cadeaux",
			`La carte est valable 3 ans et ne s'échange pas contre de l'argent. Le solde se lit en ligne avec le numéro au dos.`,
		},
	}
}
