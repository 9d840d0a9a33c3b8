package sandbox

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// From Linux 6.7 on a process may have the kernel note which of its pages are written: write-protected by userfaultfd in its asynchronous
// mode, a page is made writable by the kernel at the first write, without anybody being asked, and PAGEMAP_SCAN lists the pages of a
// range that are not protected any more. See Documentation/admin-guide/mm/{userfaultfd,pagemap}.rst and linux/{userfaultfd,fs}.h.

// Of linux/userfaultfd.h.
const (
	uffdUserModeOnly       = 1
	uffdAPI                = 0xaa
	uffdFeatureWP          = 1 << 0
	uffdFeatureUnpopulated = 1 << 13
	uffdFeatureAsync       = 1 << 15
	uffdRegisterWP         = 1 << 1
	uffdProtect            = 1 << 0
	uffdioAPI              = 0xc018aa3f
	uffdioRegister         = 0xc020aa00
	uffdioWriteProtect     = 0xc018aa06
)

// Of linux/fs.h.
const (
	pagemapScan   = 0xc0606610
	pageIsWritten = 1 << 1
)

type (
	uffdAPIArg      struct{ api, features, ioctls uint64 }
	uffdRange       struct{ start, length uint64 }
	uffdRegisterArg struct {
		uffdRange
		mode, ioctls uint64
	}
	uffdProtectArg struct {
		uffdRange
		mode uint64
	}
	scanArg struct {
		size, flags, start, end, walkEnd, list, listLen, maxPages uint64
		inverted, categories, anyOfCategories, categoriesReturned uint64
	}
	scanned struct{ start, end, _ uint64 }
)

// kernelTracker holds two files for as long as the process lives.
type kernelTracker struct{ faults, pages uintptr }

func newTracker() (tracker, error) {
	if os.Getpagesize() != blockSize {
		return nil, fmt.Errorf("pages of %d bytes", os.Getpagesize())
	}
	faults, _, errno := unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|unix.O_NONBLOCK|uffdUserModeOnly, 0, 0)
	if errno != 0 {
		return nil, fmt.Errorf("userfaultfd: %w", errno)
	}
	const features = uffdFeatureWP | uffdFeatureUnpopulated | uffdFeatureAsync
	api := uffdAPIArg{api: uffdAPI, features: features}
	err := ioctl(faults, uffdioAPI, unsafe.Pointer(&api))
	pages := -1
	if err == nil {
		pages, err = unix.Open("/proc/self/pagemap", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("no asynchronous userfaultfd: %w", err), unix.Close(int(faults)))
	}
	return &kernelTracker{faults, uintptr(pages)}, nil
}

func ioctl(fd, request uintptr, arg unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, request, uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}

func rangeOf(b []byte) uffdRange {
	return uffdRange{uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))), uint64(len(b))}
}

func (t *kernelTracker) watch(memory []byte) error {
	if err := unix.Madvise(memory, unix.MADV_NOHUGEPAGE); err != nil && !errors.Is(err, unix.EINVAL) { // a kernel without huge pages
		return err
	}
	register := uffdRegisterArg{uffdRange: rangeOf(memory), mode: uffdRegisterWP}
	if err := ioctl(t.faults, uffdioRegister, unsafe.Pointer(&register)); err != nil {
		return err
	}
	return t.unwritten(memory)
}

func (t *kernelTracker) unwritten(pages []byte) error {
	protect := uffdProtectArg{rangeOf(pages), uffdProtect}
	return ioctl(t.faults, uffdioWriteProtect, unsafe.Pointer(&protect))
}

func (t *kernelTracker) written(memory []byte, f func(from, to int)) error {
	var list [64]scanned
	all := rangeOf(memory)
	for from := all.start; from < all.start+all.length; {
		scan := scanArg{
			size: uint64(unsafe.Sizeof(scanArg{})), start: from, end: all.start + all.length,
			list: uint64(uintptr(unsafe.Pointer(&list))), listLen: uint64(len(list)),
			categories: pageIsWritten, categoriesReturned: pageIsWritten,
		}
		n, _, errno := unix.Syscall(unix.SYS_IOCTL, t.pages, pagemapScan, uintptr(unsafe.Pointer(&scan)))
		if errno != 0 {
			return fmt.Errorf("PAGEMAP_SCAN: %w", errno)
		}
		for _, r := range list[:n] {
			f(int(r.start-all.start), int(r.end-all.start))
		}
		if scan.walkEnd <= from {
			return errors.New("PAGEMAP_SCAN does not get on")
		}
		from = scan.walkEnd
	}
	return nil
}
