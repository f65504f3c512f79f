# Written by 'python -m docs.generator' from the tables that the cases are held against; do not edit.
meta:
  id: lmcache_lm_0_4_5
  title: lm:// remote store of LMCache, 0.4.5 to 0.5.0
  application: LMCache
  license: Apache-2.0
  ks-version: "0.11"
  encoding: UTF-8
  endian: le
doc: |
  All that one side of a TCP connection of LMCache's lm:// remote store sends, as the releases 0.4.5 to 0.5.0 write and
  read it. Give it the bytes of either direction: whether they are requests or replies is seen from their first number.

  Nothing on the wire names the release. Another one may have headers of another size, so take the description of the release that
  wrote the bytes.
doc-ref: docs/spec/lm.md
seq:
  - id: requests
    type: request
    repeat: eos
    if: not is_replies
    doc: What a client sends.
  - id: replies
    type: reply
    repeat: eos
    if: is_replies
    doc: What a server sends.
instances:
  first_number:
    pos: 0
    type: s4
    if: _io.size >= 4
    doc: The command of a request, or the code of a reply.
  is_replies:
    value: _io.size >= 4 and (first_number == 200 or first_number == 400)
    doc: No command has the number of a code.
types:
  request:
    doc: A request of 186 bytes, and the payload of a PUT.
    doc-ref:
      - LM-REQ-002 in docs/spec/lm.md
      - LM-SRV-011 in docs/spec/lm.md
    seq:
      - id: command
        type: s4
        enum: command
        valid:
          in-enum: true
        doc: What is asked for.
        doc-ref:
          - LM-REQ-005 in docs/spec/lm.md
          - LM-REQ-012 in docs/spec/lm.md
      - id: length
        type: s4
        doc: Bytes of payload behind the header of a PUT; a negative number stands for none. It means nothing elsewhere.
        doc-ref:
          - LM-PUT-001 in docs/spec/lm.md
          - LM-SRV-005 in docs/spec/lm.md
      - id: format
        type: s4
        enum: format
        valid:
          in-enum: true
        doc: Which axis of the shape is what.
        doc-ref:
          - LM-REQ-007 in docs/spec/lm.md
          - LM-REQ-012 in docs/spec/lm.md
      - id: dtype
        type: s4
        enum: dtype
        valid:
          in-enum: true
        doc: Type of an element.
        doc-ref:
          - LM-REQ-006 in docs/spec/lm.md
          - LM-REQ-012 in docs/spec/lm.md
      - id: location
        type: s4
        enum: location
        valid:
          in-enum: true
        doc: Where the value is to lie. Servers ignore it.
        doc-ref:
          - LM-REQ-008 in docs/spec/lm.md
          - LM-REQ-012 in docs/spec/lm.md
      - id: shape
        type: s4
        repeat: expr
        repeat-expr: 4
        doc: Dimensions; a shape of fewer than four is followed by zeros.
        doc-ref:
          - LM-REQ-010 in docs/spec/lm.md
      - id: key
        size: 150
        pad-right: 0x20
        type: key
        doc: Which value is meant; the string is padded with spaces.
        doc-ref:
          - LM-REQ-003 in docs/spec/lm.md
          - LM-REQ-004 in docs/spec/lm.md
      - id: payload
        size: "length > 0 ? length : 0"
        if: command == command::put
        doc: The bytes to store.
        doc-ref:
          - LM-PUT-001 in docs/spec/lm.md
          - LM-SRV-005 in docs/spec/lm.md
    instances:
      rank:
        value: >-
          format == format::binary or format == format::binary_buffer or shape[3] != 0 ? 4
          : shape[2] != 0 ? 3 : shape[1] != 0 ? 2 : 1
        doc: How many of the dimensions count; zeros behind them are padding, but not in the two BINARY formats.
  reply:
    doc: |
      A reply of 36 bytes, and the payload of a GET that hit. PUT and LIST have none; replies come in the order of the
      requests and say nothing else about them. Only a GET that hit has a length other than 0.
    doc-ref:
      - LM-REPLY-002 in docs/spec/lm.md
      - LM-SRV-001 in docs/spec/lm.md
      - LM-SRV-002 in docs/spec/lm.md
      - LM-SRV-011 in docs/spec/lm.md
    seq:
      - id: code
        type: s4
        enum: code
        valid:
          in-enum: true
        doc: Whether the request succeeded.
        doc-ref:
          - LM-REPLY-004 in docs/spec/lm.md
          - LM-REPLY-006 in docs/spec/lm.md
      - id: length
        type: s4
        doc: Bytes of payload that follow; a negative number stands for none.
        doc-ref:
          - LM-GET-002 in docs/spec/lm.md
          - LM-SRV-003 in docs/spec/lm.md
          - LM-SRV-005 in docs/spec/lm.md
      - id: format
        type: s4
        enum: format
        valid:
          in-enum: true
        doc: Which axis of the shape is what.
        doc-ref:
          - LM-REQ-007 in docs/spec/lm.md
          - LM-REQ-012 in docs/spec/lm.md
      - id: dtype
        type: s4
        enum: dtype
        valid:
          in-enum: true
        doc: Type of an element.
        doc-ref:
          - LM-REQ-006 in docs/spec/lm.md
          - LM-REQ-012 in docs/spec/lm.md
      - id: shape
        type: s4
        repeat: expr
        repeat-expr: 4
        doc: Dimensions; a shape of fewer than four is followed by zeros.
        doc-ref:
          - LM-REQ-010 in docs/spec/lm.md
      - id: location
        type: s4
        enum: location
        valid:
          in-enum: true
        doc: Where the value is to lie. Servers ignore it.
        doc-ref:
          - LM-REQ-008 in docs/spec/lm.md
          - LM-REQ-012 in docs/spec/lm.md
      - id: payload
        size: "length > 0 ? length : 0"
        if: code == code::success
        doc: The stored bytes.
        doc-ref:
          - LM-REPLY-004 in docs/spec/lm.md
          - LM-SRV-003 in docs/spec/lm.md
          - LM-SRV-005 in docs/spec/lm.md
    instances:
      rank:
        value: >-
          format == format::binary or format == format::binary_buffer or shape[3] != 0 ? 4
          : shape[2] != 0 ? 3 : shape[1] != 0 ? 2 : 1
        doc: How many of the dimensions count; zeros behind them are padding, but not in the two BINARY formats.
  key:
    doc: |
      A key string: parts with an @ between them. Numbers are left as text, because they have any width; that they are numbers, and
      that a layer is one, is not checked.
    doc-ref:
      - KEY-FMT-003 in docs/spec/keys.md
      - KEY-FMT-008 in docs/spec/keys.md
    seq:
      - id: model
        type: str
        terminator: 0x40
      - id: world_size
        type: str
        terminator: 0x40
        doc: A decimal number.
      - id: worker_id
        type: str
        terminator: 0x40
        doc: A decimal number.
      - id: chunk_hash
        type: str
        terminator: 0x40
        doc: A hexadecimal number, signed, of any width.
        doc-ref:
          - KEY-FMT-005 in docs/spec/keys.md
          - KEY-FMT-006 in docs/spec/keys.md
      - id: dtype
        type: str
        terminator: 0x40
        consume: false
        eos-error: false
        valid:
          any-of:
            - '"half"' # float16
            - '"bfloat16"' # bfloat16
            - '"float"' # float32
            - '"double"' # float64
            - '"int8"' # int8
            - '"uint8"' # uint8
            - '"int16"' # int16
            - '"int32"' # int32
            - '"int64"' # int64
            - '"bool"' # bool
            - '"fp8_e4m3fn"' # float8_e4m3fn
            - '"fp8_e4m3fnuz"' # float8_e4m3fnuz
            - '"fp8_e5m2"' # float8_e5m2
            - '"fp8_e5m2fnuz"' # float8_e5m2fnuz
        doc-ref:
          - KEY-FMT-007 in docs/spec/keys.md
      - id: suffixes
        type: key_suffix
        repeat: eos
        doc: The number of a layer, if the key is one of a layer, and then tags.
  key_suffix:
    seq:
      - id: at_sign
        contents: "@"
      - id: text
        type: key_suffix_text
        terminator: 0x40
        consume: false
        eos-error: false
  key_suffix_text:
    doc: The number of a layer, or a tag with % between its name and its value.
    doc-ref:
      - KEY-FMT-008 in docs/spec/keys.md
      - KEY-PARSE-001 in docs/spec/keys.md
      - LM-SRV-015 in docs/spec/lm.md
    seq:
      - id: name
        type: str
        terminator: 0x25
        consume: false
        eos-error: false
        doc: Name of a tag, or the number of a layer.
      - id: percent
        type: str
        size: "_io.eof ? 0 : 1"
      - id: value
        type: str
        size-eos: true
    instances:
      is_tag:
        value: percent == "%"
  remote_metadata:
    params:
      - id: num_groups
        type: u4
        doc: How many groups both programs were set up for; no byte says so.
    doc: |
      What other remote backends put in front of a value. It is no part of a conversation over lm://; bytes behind it are not its own.
    doc-ref:
      - LM-META-002 in docs/spec/lm.md
      - LM-META-003 in docs/spec/lm.md
    seq:
      - id: length
        type: s4
        doc: Bytes of the value.
        doc-ref:
          - LM-META-002 in docs/spec/lm.md
      - id: format
        type: s4
        enum: format
        valid:
          in-enum: true
        doc: Which axis of the shape is what.
        doc-ref:
          - LM-REQ-007 in docs/spec/lm.md
          - LM-REQ-012 in docs/spec/lm.md
      - id: groups
        type: metadata_group(format)
        repeat: expr
        repeat-expr: num_groups
  metadata_group:
    params:
      - id: format
        type: s4
        enum: format
    doc: One tensor of a value.
    seq:
      - id: dtype
        type: s4
        enum: dtype
        valid:
          in-enum: true
        doc: Type of an element.
        doc-ref:
          - LM-REQ-006 in docs/spec/lm.md
          - LM-REQ-012 in docs/spec/lm.md
      - id: shape
        type: s4
        repeat: expr
        repeat-expr: 4
        doc: Dimensions; a shape of fewer than four is followed by zeros.
        doc-ref:
          - LM-REQ-010 in docs/spec/lm.md
    instances:
      rank:
        value: >-
          format == format::binary or format == format::binary_buffer or shape[3] != 0 ? 4
          : shape[2] != 0 ? 3 : shape[1] != 0 ? 2 : 1
        doc: How many of the dimensions count; zeros behind them are padding, but not in the two BINARY formats.
enums:
  command:
    1:
      id: put
      -orig-id: PUT
    2:
      id: get
      -orig-id: GET
    3:
      id: exist
      -orig-id: EXIST
    4:
      id: list
      -orig-id: LIST
    5:
      id: health
      -orig-id: HEALTH
  code:
    200:
      id: success
      -orig-id: SUCCESS
    400:
      id: fail
      -orig-id: FAIL
  format:
    0:
      id: undefined
      -orig-id: UNDEFINED
    1:
      id: kv_2ltd
      -orig-id: KV_2LTD
    2:
      id: kv_t2d
      -orig-id: KV_T2D
    3:
      id: kv_2td
      -orig-id: KV_2TD
    4:
      id: binary
      -orig-id: BINARY
    5:
      id: binary_buffer
      -orig-id: BINARY_BUFFER
    6:
      id: kv_mla_fmt
      -orig-id: KV_MLA_FMT
    7:
      id: ec_td
      -orig-id: EC_TD
  dtype:
    0: none
    1:
      id: half
      doc: Read as float16; no encoder of lmcache writes it.
    2: float16
    3: bfloat16
    4: float32
    5: float64
    6: uint8
    7: float8_e4m3fn
    8: float8_e5m2
  location:
    0: none
    1:
      id: local_cpu_backend
      -orig-id: LocalCPUBackend
    2:
      id: local_disk_backend
      -orig-id: LocalDiskBackend
