package upgrade

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"runtime"
	"testing"
)

// header is the beginning of a program.
func header(system elf.OSABI, order elf.Data, kind elf.Type, machine elf.Machine) []byte {
	h := make([]byte, 64)
	copy(h, elf.ELFMAG)
	h[elf.EI_CLASS], h[elf.EI_DATA], h[elf.EI_VERSION], h[elf.EI_OSABI] = byte(elf.ELFCLASS64), byte(order), byte(elf.EV_CURRENT), byte(system)
	h[16], h[18] = byte(kind), byte(machine)
	return h
}

func TestTheArchitectureOfAProgram(t *testing.T) {
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file         []byte
		architecture string // empty: it is refused
		foreign      bool   // it is no program for Linux at all
	}{
		"this one":            {self, runtime.GOARCH, false},
		"x86-64":              {header(elf.ELFOSABI_NONE, elf.ELFDATA2LSB, elf.ET_EXEC, elf.EM_X86_64), "amd64", false},
		"arm64, relocatable":  {header(elf.ELFOSABI_LINUX, elf.ELFDATA2LSB, elf.ET_DYN, elf.EM_AARCH64), "arm64", false},
		"RISC-V":              {header(elf.ELFOSABI_NONE, elf.ELFDATA2LSB, elf.ET_EXEC, elf.EM_RISCV), "", false},
		"big-endian":          {header(elf.ELFOSABI_NONE, elf.ELFDATA2MSB, elf.ET_EXEC, elf.EM_X86_64), "", false},
		"FreeBSD":             {header(elf.ELFOSABI_FREEBSD, elf.ELFDATA2LSB, elf.ET_EXEC, elf.EM_X86_64), "", false},
		"an object file":      {header(elf.ELFOSABI_NONE, elf.ELFDATA2LSB, elf.ET_REL, elf.EM_X86_64), "", false},
		"a program for macOS": {append([]byte{0xcf, 0xfa, 0xed, 0xfe}, make([]byte, 60)...), "", true},
		"a script":            {[]byte("#!/bin/sh\necho pinion version A\n"), "", true},
		"cut off":             {header(elf.ELFOSABI_NONE, elf.ELFDATA2LSB, elf.ET_EXEC, elf.EM_X86_64)[:19], "", true},
		"empty":               {nil, "", true},
	} {
		got, err := ArchitectureOf(bytes.NewReader(c.file))
		if got != c.architecture || (err != nil) != (c.architecture == "") || errors.Is(err, ErrNotELF) != c.foreign {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
}
