package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
)

// A pod is some kilobytes.
const lineBytesMax = 1 << 20

// encode answers each pod in JSON with its length, four bytes, and its protobuf, without what stands around it.
func encode(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, lineBytesMax)
	written := bufio.NewWriter(out)
	for lines.Scan() {
		var pod corev1.Pod
		// A field that the type does not have would be one that only JSON carries.
		decoder := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&pod); err != nil {
			return fmt.Errorf("a pod cannot be read: %w", err)
		}
		encoded, err := pod.Marshal()
		if err != nil {
			return fmt.Errorf("a pod cannot be written: %w", err)
		}
		length := binary.BigEndian.AppendUint32(nil, uint32(len(encoded)))
		if _, err := written.Write(append(length, encoded...)); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return written.Flush()
}
