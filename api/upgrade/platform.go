package upgrade

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrNotELF means that a file is not in the format of Linux's programs.
var ErrNotELF = errors.New("it is no program for Linux")

// architectures are the processors that there are hosts for, as GOARCH has them, by the machine in the header of a program. All are little-endian.
var architectures = map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}

// ArchitectureOf is the processor that a program for Linux is for, as GOARCH has it. It reads the beginning of the file alone (elf(5)): the file may be anybody's.
// ErrNotELF; other errors say what else than a program of a host it is.
func ArchitectureOf(program io.ReaderAt) (string, error) {
	header := make([]byte, 20)
	if n, err := program.ReadAt(header, 0); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	} else if n < len(header) || string(header[:len(elf.ELFMAG)]) != elf.ELFMAG {
		return "", ErrNotELF
	}
	system, kind := elf.OSABI(header[elf.EI_OSABI]), elf.Type(binary.LittleEndian.Uint16(header[16:]))
	machine := elf.Machine(binary.LittleEndian.Uint16(header[18:]))
	architecture := architectures[machine]
	switch {
	case elf.Data(header[elf.EI_DATA]) != elf.ELFDATA2LSB || architecture == "":
		return "", fmt.Errorf("it is for another processor than hosts have (%s)", machine)
	case system != elf.ELFOSABI_NONE && system != elf.ELFOSABI_LINUX:
		return "", fmt.Errorf("it is for %s, and hosts are Linux machines", system)
	case kind != elf.ET_EXEC && kind != elf.ET_DYN:
		return "", fmt.Errorf("it is no program (%s)", kind)
	}
	return architecture, nil
}
