package nvml

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"pinion/gpu/nvml/protocol"
)

// runOnce runs a program and returns its output.
type runOnce func(ctx context.Context, program string, args ...string) (output string, err error)

// maxPrinted bounds the kept output of a program.
const maxPrinted = 500

func runProgram(ctx context.Context, program string, args ...string) (string, error) {
	output, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(output), "")), " ")
	return text[:min(len(text), maxPrinted)], err
}

// testMemory has a process of its own test the memory of the device: CUDA would keep some of it, and may hang.
func (s *Source) testMemory(ctx context.Context, uuid string) error {
	output, err := s.run(ctx, s.self, protocol.MemoryTest, uuid)
	if err != nil {
		return fmt.Errorf("memory test: %w: %s", err, output)
	}
	s.log.Info("memory test of a GPU passed", "gpu", uuid, "result", output)
	return nil
}

// Reset is of gpu.Resetter. The driver resets no device that a process has open, so the helper is stopped for that time.
func (s *Source) Reset(ctx context.Context, uuid string) error {
	return s.helper.suspend(ctx, func() error {
		output, err := s.run(ctx, "nvidia-smi", "--gpu-reset", "--id="+uuid)
		if err != nil {
			return fmt.Errorf("nvidia-smi --gpu-reset: %w: %s", err, output)
		}
		s.log.Info("a GPU was reset", "gpu", uuid, "result", output)
		return nil
	})
}
