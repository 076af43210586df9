package messages

import "github.com/phalanx-go/phalanx/protocol/directory"

func (m *Directory) setRequest(body directory.Body) error {
	switch b := body.(type) {
	case directory.Locate:
		m.Body = &Directory_Locate{&Locate{Room: b.Room, Wait: b.Wait, Down: b.Down, Failed: b.Failed}}
	case directory.Done:
		m.Body = &Directory_Done{&Done{Lease: b.Lease, Gen: fromGen(b.Gen), Complete: b.Complete, Rate: b.Rate}}
	case directory.Announce:
		m.Body = &Directory_Announce{&Announce{Gen: fromGen(b.Gen), Complete: b.Complete, Pinned: b.Pinned,
			Origin: b.Origin, Begun: b.Begun, Retiring: b.Retiring, Meta: fromMeta(b.Meta)}}
	case directory.PutInline:
		m.Body = &Directory_PutInline{&PutInline{Meta: fromMeta(b.Meta), Digest: fromDigest(b.Digest), Bytes: b.Bytes,
			Tag: []byte(b.Tag), Note: b.Note, Gen: fromGen(b.Gen), Held: b.Held, Copies: int64(b.Copies), After: fromGen(b.After)}}
	case directory.Begin:
		m.Body = &Directory_Begin{&Begin{Meta: fromMeta(b.Meta), Maker: Maker(b.Maker), Tag: []byte(b.Tag),
			Copies: int64(b.Copies), Replace: fromGen(b.Replace), Run: b.Run, After: fromGen(b.After)}}
	case directory.Final:
		m.Body = &Directory_Final{&Final{Gen: fromGen(b.Gen), Meta: fromMeta(b.Meta), Digest: fromDigest(b.Digest),
			Note: b.Note, Held: b.Held, At: string(b.At), View: b.View}}
	case directory.Failed:
		m.Body = &Directory_Failed{&Failed{Lease: b.Lease, Reason: fromText(b.Reason)}}
	case directory.Cancel:
		m.Body = &Directory_Cancel{&Cancel{Num: b.Num}}
	case directory.Abort:
		m.Body = &Directory_Abort{&Abort{Gen: fromGen(b.Gen), Run: b.Run}}
	case directory.Restart:
		m.Body = &Directory_Restart{&Restart{Gen: fromGen(b.Gen), Run: b.Run}}
	case directory.Delete:
		m.Body = &Directory_Delete{&Delete{Gen: fromGen(b.Gen)}}
	case directory.Watch:
		m.Body = &Directory_Watch{&Watch{}}
	case directory.Stat:
		m.Body = &Directory_Stat{&Stat{}}
	case directory.Evict:
		m.Body = &Directory_Evict{&Evict{Gen: fromGen(b.Gen)}}
	case directory.Drop:
		m.Body = &Directory_Drop{&Drop{Gen: fromGen(b.Gen), Granted: b.Granted}}
	case directory.Slow:
		m.Body = &Directory_Slow{&Slow{Lease: b.Lease}}
	case directory.Corrupt:
		m.Body = &Directory_Corrupt{&Corrupt{Gen: fromGen(b.Gen), Digest: fromDigest(b.Digest)}}
	case directory.Checked:
		m.Body = &Directory_Checked{&Checked{Gen: fromGen(b.Gen), Digest: fromDigest(b.Digest)}}
	case directory.AwaitCopies:
		m.Body = &Directory_AwaitCopies{&AwaitCopies{Gen: fromGen(b.Gen), Copies: int64(b.Copies), Leaving: b.Leaving}}
	case directory.List:
		m.Body = &Directory_List{&List{Prefix: []byte(b.Prefix), After: string(b.After), Limit: int64(b.Limit)}}
	default:
		return unsendable("a request with the body %T", body)
	}
	return nil
}

func (f *fields) body(m *Directory) directory.Body {
	switch b := m.Body.(type) {
	case *Directory_Locate:
		if b.Locate.GetRoom() < 0 {
			f.bad("locate.room", "the number is %d", b.Locate.GetRoom())
		}
		return directory.Locate{Room: b.Locate.GetRoom(), Wait: b.Locate.GetWait(), Down: b.Locate.GetDown(), Failed: b.Locate.GetFailed()}
	case *Directory_Done:
		d := b.Done
		if d.GetRate() < 0 {
			f.bad("done.rate", "the number is %d", d.GetRate())
		}
		return directory.Done{Lease: d.GetLease(), Gen: toGen(d.GetGen()), Complete: d.GetComplete(), Rate: d.GetRate()}
	case *Directory_Announce:
		a := b.Announce
		return directory.Announce{Gen: toGen(a.GetGen()), Complete: a.GetComplete(), Pinned: a.GetPinned(),
			Origin: a.GetOrigin(), Begun: a.GetBegun(), Retiring: a.GetRetiring(), Meta: f.meta("announce.meta", a.GetMeta())}
	case *Directory_PutInline:
		p := b.PutInline
		return directory.PutInline{Meta: f.meta("put_inline.meta", p.GetMeta()),
			Digest: f.digest("put_inline.digest", p.GetDigest()), Bytes: p.GetBytes(), Tag: string(p.GetTag()),
			Note: p.GetNote(), Gen: toGen(p.GetGen()), Held: p.GetHeld(),
			Copies: f.count("put_inline.copies", p.GetCopies()), After: toGen(p.GetAfter())}
	case *Directory_Begin:
		g := b.Begin
		return directory.Begin{Meta: f.meta("begin.meta", g.GetMeta()),
			Maker: enum(f, "begin.maker", g.GetMaker(), directory.ByReduce), Tag: string(g.GetTag()),
			Copies: f.count("begin.copies", g.GetCopies()), Replace: toGen(g.GetReplace()), Run: g.GetRun(), After: toGen(g.GetAfter())}
	case *Directory_Final:
		n := b.Final
		return directory.Final{Gen: toGen(n.GetGen()), Meta: f.meta("final.meta", n.GetMeta()),
			Digest: f.digest("final.digest", n.GetDigest()), Note: n.GetNote(), Held: n.GetHeld(), At: f.maybeNode("final.at", n.GetAt()), View: n.GetView()}
	case *Directory_Failed:
		return directory.Failed{Lease: b.Failed.GetLease(), Reason: b.Failed.GetReason()}
	case *Directory_Cancel:
		return directory.Cancel{Num: b.Cancel.GetNum()}
	case *Directory_Abort:
		return directory.Abort{Gen: toGen(b.Abort.GetGen()), Run: b.Abort.GetRun()}
	case *Directory_Restart:
		return directory.Restart{Gen: toGen(b.Restart.GetGen()), Run: b.Restart.GetRun()}
	case *Directory_Delete:
		return directory.Delete{Gen: toGen(b.Delete.GetGen())}
	case *Directory_Watch:
		return directory.Watch{}
	case *Directory_Stat:
		return directory.Stat{}
	case *Directory_Evict:
		return directory.Evict{Gen: toGen(b.Evict.GetGen())}
	case *Directory_Drop:
		return directory.Drop{Gen: toGen(b.Drop.GetGen()), Granted: b.Drop.GetGranted()}
	case *Directory_Slow:
		return directory.Slow{Lease: b.Slow.GetLease()}
	case *Directory_Corrupt:
		return directory.Corrupt{Gen: toGen(b.Corrupt.GetGen()), Digest: f.digest("corrupt.digest", b.Corrupt.GetDigest())}
	case *Directory_Checked:
		return directory.Checked{Gen: toGen(b.Checked.GetGen()), Digest: f.digest("checked.digest", b.Checked.GetDigest())}
	case *Directory_AwaitCopies:
		return directory.AwaitCopies{Gen: toGen(b.AwaitCopies.GetGen()), Copies: f.count("await_copies.copies", b.AwaitCopies.GetCopies()), Leaving: b.AwaitCopies.GetLeaving()}
	case *Directory_List:
		return directory.List{Prefix: string(b.List.GetPrefix()), After: f.maybeObject("list.after", b.List.GetAfter()),
			Limit: f.count("list.limit", b.List.GetLimit())}
	}
	f.missing("body")
	return nil
}
