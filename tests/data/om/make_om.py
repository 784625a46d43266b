# SPDX-License-Identifier: Apache-2.0
"""Writes the offline models of this directory field by field, damaged ones in bad/, and beside them as JSON what
`atc --mode=1` would make of their graphs, by the decoder in om_decode.py. None of it is an Ascend tool's own.

net.json is of v1, v2_narrow, v2_wide and v2_wide_compressed, net_escaped.json the same with single strings as newer
versions of atc write them; multi.json is of multi_narrow and multi_wide. The models have quantization, an L1 group, a
slice, a colon and characters beyond ASCII in names, a control edge, an input that is not connected, a sub-format, a
size of -1, an output that says nothing, and lists of integers packed and not.
"""
import struct, json, io, os, zipfile
import om_decode
from om_decode import load, undict, tojson, attrs
OUT = os.path.dirname(os.path.abspath(__file__)) + '/'
def vi(n):
    n &= 2**64 - 1; r = b''
    while True:
        r += bytes([n & 127 | (128 if n > 127 else 0)]); n >>= 7
        if not n: return r
def L(n, b):
    b = b.encode() if isinstance(b, str) else b
    return vi(n << 3 | 2) + vi(len(b)) + b
def V(n, x): return vi(n << 3) + vi(x)
def F(n, x): return vi(n << 3 | 5) + struct.pack('<f', x)
def packed(n, xs): return L(n, b''.join(vi(x) for x in xs)) if xs else b''
def s(x): return L(2, x)
def i(x): return V(3, x)
def f(x): return F(4, x)
def b(x): return V(5, int(x))
def ls(xs): return L(1, b''.join(L(2, x) for x in xs) + V(20, 1))
def li(xs, unpacked=False):
    return L(1, (b''.join(V(3, x) for x in xs) if unpacked else packed(3, xs)) + V(20, 2))
class Enum:                       # attribute compression, om_compress_version 1
    def __init__(self): self.names = []; self.vals = []; self.use = []
    def key(self, name, is_str):
        if name not in self.names: self.names.append(name); self.use.append(is_str)
        n = self.names.index(name); r = b'\0'
        while True:
            r += bytes([n % 127 + 1]); n //= 127
            if not n: return r
    def val(self, v):
        v = v.encode() if isinstance(v, str) else v
        if v not in self.vals: self.vals.append(v)
        return self.vals.index(v)
def A(field, d, e=None):          # map<string, AttrDef>; d: name -> ('s', x) etc.
    r = b''
    for k, (t, x) in d.items():
        key = k.encode()
        if e is not None:
            key = e.key(k, t in ('s', 'ls'))
            if t == 's': t, x = 'i', e.val(x)
            elif t == 'ls': t, x = 'li', [e.val(y) for y in x]
        r += L(field, L(1, key) + L(2, {'s': s, 'i': i, 'f': f, 'b': b, 'ls': ls, 'li': li, 'raw': lambda y: y}[t](x)))
    return r
def T(dtype, layout, dims, attr=None, e=None, extra=b'', unpacked=False):
    sh = b''.join(V(1, x) for x in dims) if unpacked else packed(1, dims)
    return (V(2, dtype) if dtype else b'') + L(3, sh) + L(4, layout) + A(5, attr or {}, e) + extra
def O(name, typ, inputs, attr, outs, id, e=None, ins=(), sub=()):
    return L(6, L(1, name) + L(2, typ) + b''.join(L(5, x) for x in inputs) + A(10, attr, e) + (V(21, id) if id else b'')
             + b''.join(L(33, x) for x in ins) + b''.join(L(34, x) for x in outs) + b''.join(L(35, x) for x in sub))
def org(name, index, fmt, shape): return {'_datadump_origin_name': ('s', name), '_datadump_origin_output_index': ('i', index),
    '_datadump_origin_format': ('s', fmt), 'origin_format': ('s', fmt), 'origin_shape': ('li', shape)}
F32, F16, I8, U8, I32, U64 = 1, 2, 3, 4, 7, 10
def graph(e=None):
    n4 = [1, 3, 8, 8]
    ops = [O('data', 'Data', [''], {'_datadump_original_op_names': ('ls', ['data'])}, [T(F32, 'NCHW', n4, {'origin_format': ('s', 'NCHW'), 'origin_shape': ('li', n4)}, e)], 0, e),
     O('quant_1', 'AscendQuant', ['data:0'], {'scale': ('f', 0.0078125), 'offset': ('f', -3.0), 'sqrt_mode': ('b', False), '_datadump_original_op_names': ('ls', [])},
       [T(I8, 'NC1HWC0', [1, 1, 8, 8, 32], {'origin_format': ('s', 'NCHW'), 'origin_shape': ('li', n4)}, e)], 1, e),
     O('quant_2', 'AscendQuant', ['data:0', 'quant_1:-1'], {'scale': ('f', 0.123456789), 'offset': ('f', 0.0), 'sqrt_mode': ('b', True), '_datadump_original_op_names': ('ls', [])},
       [T(I8, 'NC1HWC0', [1, 1, 8, 8, 32], {}, e)], 2, e),
     O('filter', 'Const', [], {'_datadump_original_op_names': ('ls', []), 'value': ('raw', L(12, L(1, T(I8, 'FRACTAL_Z:16', [9, 1, 16, 32], {'origin_shape': ('li', [16, 3, 3, 3])}, None, V(11, 4608) + V(18, 512)))))},
       [T(I8, 'FRACTAL_Z:16', [9, 1, 16, 32], {}, e)], 3, e),
     O('conv1bn1relu1_lxslice0', 'Conv2D', ['quant_1:0', 'filter:0', ''], {'_datadump_original_op_names': ('ls', ['conv1', 'bn1', 'relu1']), '_L1_fusion_sub_graph_no': ('s', '0')},
       [T(I32, 'NC1HWC0', [1, 1, 8, 8, 16], org('relu1', 0, 'NCHW', [1, 16, 8, 8]), e)], 4, e),
     O('deq_scale', 'Const', [], {'value': ('raw', L(12, L(1, T(U64, 'NC1HWC0', [1, 1, 1, 1, 16], {}, None, V(11, 128) + V(18, 5632)))))}, [T(U64, 'NC1HWC0', [1, 1, 1, 1, 16], {}, e)], 5, e),
     O('dequant_1', 'AscendDequant', ['conv1bn1relu1_lxslice0:0', 'deq_scale:0'], {'sqrt_mode': ('b', False), 'relu_flag': ('b', True), '_datadump_original_op_names': ('ls', [])},
       [T(F16, 'NC1HWC0', [1, 1, 8, 8, 16], org('relu1', 0, 'NCHW', [1, 16, 8, 8]), e)], 6, e),
     O('split:a', 'SplitD', ['dequant_1:0'], {'_datadump_is_multiop': ('b', True), '_datadump_original_op_names': ('ls', ['切分', 'split/b'])},
       [T(F16, 'NC1HWC0', [1, 1, 4, 8, 16], org('切分', 0, 'NCHW', [1, 16, 4, 8]), e), T(F16, 'NC1HWC0', [1, 1, 4, 8, 16], org('切分', 1, 'NCHW', [1, 16, 4, 8]), e), b''], 7, e),
     O('trans_TransData_9', 'TransData', ['split:a:1'], {'_datadump_original_op_names': ('ls', [])}, [T(F16, 'NCHW', [-1, 16, 4, 8], {'origin_format': ('s', 'NCHW'), 'origin_shape': ('li', [-1, 16, 4, 8])}, e, unpacked=True)], 8, e),
     O('Node_Output', 'NetOutput', ['split:a:0', 'trans_TransData_9:0'], {}, [], 9, e, ins=[T(F16, 'NC1HWC0', [1, 1, 4, 8, 16]), T(0, 'FORMAT_RESERVED', [])])]
    return L(7, L(1, 'net') + L(4, 'data:0') + L(5, 'Node_Output:0') + b''.join(ops))
VERS = {'atc_version': ('s', '7.6.0.1.220'), 'opp_version': ('s', '7.6.0.1.220'), 'soc_version': ('s', 'Ascend310B4'), 'framework_type': ('s', 'Onnx'), 'atc_cmdline': ('s', 'atc --model=net.onnx --framework=5')}
def model(e=None, name='net', graphs=None):
    g = graphs or graph(e); extra = {}
    r = L(1, name) + V(2, 2) + L(3, '1.11.z.0') + g + A(11, VERS)
    if e is not None:
        r += A(11, {'om_compress_version': ('i', 1), 'attr_name_enum': ('raw', L(1, b''.join(L(2, x) for x in e.names) + V(20, 1))), 'attr_value_enum': ('raw', L(1, b''.join(L(2, x) for x in e.vals) + V(20, 1))),
                    'attrs_use_string_value': ('raw', L(1, packed(5, [int(x) for x in e.use]) + V(20, 4)))})
    return r
def head(body, version=0x20000000, num=1, wide=False, mtype=0, enc=0, dyn=0, name=b'net', length=None, mlen=None):
    h = struct.pack('<4sII64sIBBBB32sI32sI', b'IMOD', 256, version, bytes(64), (0 if wide else len(body)) if length is None else length, enc, 0, mtype, 0, name, 0, bytes(32), 2)
    if version >= 0x20000000: h += struct.pack('<I20sB3xQBB62s', num, b'1.11.z.0', 1, (len(body) if wide else 0) if mlen is None else mlen, 0, dyn, bytes(62))
    else: h += struct.pack('<20sB79s', b'1.11.z.0', 1, bytes(79))
    assert len(h) == 256
    return h + body
def table(parts, wide=False, count=None, sizes=None):
    r = struct.pack('<I4x' if wide else '<I', len(parts) if count is None else count); off = 0
    for k, (t, d) in enumerate(parts):
        n = len(d) if sizes is None else sizes[k]
        r += struct.pack('<I4xQQ' if wide else '<III', t, off, n); off += len(d)
    return r + b''.join(d for _, d in parts)
W = bytes(range(256)) * 23      # stands for weights
K, TASK, IO = b'kernel bytes', b'\x52\x02\x10\x03', bytes(16)
def put(name, data): os.makedirs(os.path.dirname(OUT + name), exist_ok=True); open(OUT + name, 'wb').write(data)
STD = [(0, model()), (1, W), (3, K), (2, TASK)]
put('v1.om', head(table(STD), 0x10000000))
put('v2_narrow.om', head(table(STD)))
put('v2_wide.om', head(table([(8, IO)] + STD, True), wide=True))
e = Enum(); g = graph(e)
put('v2_wide_compressed.om', head(table([(8, IO), (0, model(e, graphs=g)), (1, W), (3, K), (2, TASK)], True), wide=True))
SUB = L(7, L(1, 'sub_0') + O('sub_data', 'Data', [''], {'_parent_node_index': ('i', 0)}, [T(F16, 'ND', [4])], 0) + O('sub_relu', 'Relu', ['sub_data:0'], {'_datadump_original_op_names': ('ls', ['if/relu'])}, [T(F16, 'ND', [4], org('if/relu', 0, 'ND', [4]))], 1))
ROOT = L(7, L(1, 'root') + O('in', 'Data', [''], {}, [T(F16, 'ND', [4])], 0) + O('part0', 'PartitionedCall', ['in:0'], {}, [T(F16, 'ND', [4])], 1, sub=['sub_0']) + O('Node_Output', 'NetOutput', ['part0:0'], {}, [], 2)) + SUB
for wide in (False, True):
    ts = [table([(0, model(name='root', graphs=ROOT))], wide), table([(0, model(name='sub_0', graphs=SUB)), (1, W[:64]), (3, K), (2, TASK)], wide), table([(0, model(name='sub_1', graphs=SUB.replace(b'sub_0', b'sub_1'))), (2, TASK)], wide)]
    put('multi_wide.om' if wide else 'multi_narrow.om', head(b''.join(ts), num=3, wide=wide, dyn=int(wide), name=b'root'))
inner = [open(OUT + 'v2_narrow.om', 'rb').read(), open(OUT + 'v2_wide.om', 'rb').read()]
tb = 8 + 24 * 3; off = tb + 8
bt = struct.pack('<I4x', 3) + struct.pack('<I4xQQ', 25, tb, 8)
for x in inner: bt += struct.pack('<I4xQQ', 24, off, len(x)); off += len(x)
body = bt + struct.pack('<Q', 0) + b''.join(inner)
put('bundle.om', head(body, wide=True, num=2, mtype=5, name=b'', mlen=len(body) + 256))
put('flow.om', head(table([(0, model(name='flow', graphs=ROOT)), (6, L(1, 'flow')), (7, L(1, 'graph1') + L(2, 'NPU') + L(3, inner[1]))], True), wide=True, mtype=3))
ok = inner[0]
put('bad/encrypted.om', head(bytes((x * 37 + 11) & 255 for x in range(600)), enc=1))
put('bad/short_header.om', ok[:200])
put('bad/only_header.om', head(b''))
put('bad/length_too_long.om', head(table(STD), length=len(ok)))
put('bad/trailing_bytes.om', ok + b'junk')
put('bad/count_huge.om', head(table(STD, count=0xFFFFFFFF)))
put('bad/partition_past_end.om', head(table(STD, sizes=[len(STD[0][1]), 0xFFFFFFF0, 12, 4])))
put('bad/wide_size_overflow.om', head(table(STD, True, sizes=[len(STD[0][1]), 2**64 - 8, 12, 4]), wide=True))
put('bad/no_model_def.om', head(table(STD[1:])))
put('bad/model_num_huge.om', head(table(STD), num=0xFFFFFFFF))
put('bad/cut_proto.om', head(table([(0, STD[0][1][:-40])] + STD[1:])))
put('bad/not_proto.om', head(table([(0, b'\xff' * 64)] + STD[1:])))
deep = b''
for _ in range(5000): deep = L(13, L(6, L(10, L(2, deep))))
put('bad/deep.om', head(table([(0, L(7, L(6, L(1, 'x') + L(2, 'y') + L(10, L(1, 'k') + L(2, deep)))))] + STD[1:])))
e2 = Enum(); g2 = graph(e2); e2.names = e2.names[:3]; e2.use = e2.use[:3]
put('bad/enum_out_of_range.om', head(table([(0, model(e2, graphs=g2)), (1, W), (3, K), (2, TASK)], True), wide=True))
put('bad/svp_pico.om', b'PICO' + bytes(300))
z = io.BytesIO()
with zipfile.ZipFile(z, 'w') as zf: zf.writestr(zipfile.ZipInfo('manifest.json', (2026, 1, 1, 0, 0, 0)), '{"om2_version":"0","model_num":1}')
put('bad/om2_zip.om2', z.getvalue())
OPK = {'_datadump_original_op_names', '_datadump_is_multiop', '_L1_fusion_sub_graph_no', 'scale', 'offset', 'sqrt_mode'}
OUTK = {'_datadump_origin_name', '_datadump_origin_output_index', '_datadump_origin_format', 'origin_format', 'origin_shape', '_fx_tensor_name'}
MODK = {'atc_version', 'opp_version', 'soc_version', 'framework_type', 'atc_cmdline', 'compiler_version'}
def prune(m):                     # what plumb reads, in the form atc --mode=1 gives it
    j = tojson(m, 'ModelDef'); pick = lambda l, ks: [a for a in l if a['key'] in ks]
    r = {k: j[k] for k in ('name', 'version', 'custom_version') if k in j}
    r['attr'] = pick(j.get('attr', []), MODK); r['graph'] = []
    for g in j['graph']:
        ops = []
        for o in g.get('op', []):
            p = {k: o[k] for k in ('name', 'type', 'id', 'input', 'subgraph_name') if k in o}
            if 'attr' in o: p['attr'] = pick(o['attr'], OPK)
            if 'output_desc' in o:
                p['output_desc'] = [None if t is None else {**{k: t[k] for k in ('dtype', 'layout', 'shape') if k in t}, **({'attr': pick(t['attr'], OUTK)} if 'attr' in t else {})} for t in o['output_desc']]
            ops.append(p)
        r['graph'].append({**({'name': g['name']} if 'name' in g else {}), 'op': ops})
    return r
def expect(path, to, escape=False):
    om_decode.ESCAPE = escape
    m = load(OUT + path)[6]; undict(m)
    open(OUT + to, 'w').write(json.dumps(prune(m), ensure_ascii=False, separators=(',', ':'), sort_keys=True).replace('{"attr":[{"key":"_', '\n{"attr":[{"key":"_') + '\n')
if __name__ == '__main__':
    expect('v2_narrow.om', 'net.json'); expect('v2_narrow.om', 'net_escaped.json', True)
    expect('multi_wide.om', 'multi.json'); expect('flow.om', 'flow.json')
