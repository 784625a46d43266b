# SPDX-License-Identifier: Apache-2.0
"""Decodes offline models: header, tables, the graph as Python objects, and the JSON atc makes of it. Named
files are described on the screen. Not by way of our own reader, which it checks."""
import struct,sys,json,collections
def varint(b,p):
    r=s=0
    while True:
        c=b[p];p+=1;r|=(c&127)<<s;s+=7
        if c<128:return r&(2**64-1),p
def s64(v): return v-2**64 if v>>63 else v
# field: num:(name,kind,repeated,sub)
A='AttrDef'
SCH={
'ModelDef':{1:('name','str',0),2:('version','u32',0),3:('custom_version','str',0),7:('graph','GraphDef',1),11:('attr','map',1),12:('attr_groups','skip',0)},
'GraphDef':{1:('name','str',0),4:('input','str',1),5:('output','str',1),6:('op','OpDef',1),11:('attr','map',1),12:('attr_groups','skip',0)},
'OpDef':{1:('name','str',0),2:('type','str',0),5:('input','str',1),10:('attr','map',1),11:('attr_groups','skip',0),20:('has_out_attr','bool',0),21:('id','i64',0),22:('stream_id','i64',0),23:('input_name','str',1),24:('src_name','str',1),25:('src_index','i64',1),26:('dst_name','str',1),27:('dst_index','i64',1),28:('input_i','i64',1),29:('output_i','i64',1),30:('workspace','i64',1),31:('workspace_bytes','i64',1),32:('is_input_const','bool',1),33:('input_desc','TensorDescriptor',1),34:('output_desc','TensorDescriptor',1),35:('subgraph_name','str',1)},
'TensorDescriptor':{1:('name','str',0),2:('dtype','dtype',0),3:('shape','ShapeDef',0),4:('layout','str',0),5:('attr','map',1),6:('attr_groups','skip',0),9:('has_out_attr','bool',0),10:('size','i64',0),11:('weight_size','i64',0),12:('reuse_input','bool',0),13:('output_tensor','bool',0),14:('device_type','str',0),15:('input_tensor','bool',0),16:('real_dim_cnt','i64',0),17:('reuse_input_index','i64',0),18:('data_offset','i64',0),19:('cmps_size','i64',0),20:('cmps_tab','str',0),21:('cmps_tab_offset','i64',0)},
'ShapeDef':{1:('dim','i64',1)},
'TensorDef':{1:('desc','TensorDescriptor',0),2:('data','bytes',0)},
'NamedAttrs':{1:('name','str',0),2:('attr','map',1)},
'AttrDef':{1:('list','ListValue',0),2:('s','bytes',0),3:('i','i64',0),4:('f','f32',0),5:('b','bool',0),7:('bt','bytes',0),10:('func','NamedAttrs',0),11:('td','TensorDescriptor',0),12:('t','TensorDef',0),13:('g','GraphDef',0),14:('list_list_int','LLI',0),15:('dt','i64',0),16:('list_list_float','LLF',0),17:('expression','bytes',0)},
'LLI':{1:('list_list_i','LI',1)},'LI':{1:('list_i','i64',1)},'LLF':{1:('list_list_f','LF',1)},'LF':{1:('list_f','f32',1)},
'ListValue':{2:('s','bytes',1),3:('i','i64',1),4:('f','f32',1),5:('b','bool',1),7:('bt','bytes',1),8:('td','TensorDescriptor',1),9:('t','TensorDef',1),10:('g','GraphDef',1),11:('na','NamedAttrs',1),12:('dt','i64',1),20:('val_type','vt',0)},
'Entry':{1:('key','bytes',0),2:('value','AttrDef',0)},
}
DT='UNDEFINED FLOAT FLOAT16 INT8 UINT8 INT16 UINT16 INT32 INT64 UINT32 UINT64 BOOL DOUBLE STRING DUAL_SUB_INT8 DUAL_SUB_UINT8 COMPLEX64 COMPLEX128 QINT8 QINT16 QINT32 QUINT8 QUINT16 RESOURCE STRING_REF DUAL VARIANT BF16 INT4 UINT1 INT2 UINT2 COMPLEX32 HIFLOAT8 FLOAT8_E5M2 FLOAT8_E4M3FN FLOAT8_E8M0 FLOAT6_E3M2 FLOAT6_E2M3 FLOAT4_E2M1 FLOAT4_E1M2 HIFLOAT4'.split()
VT='NONE STRING INT FLOAT BOOL BYTES TENSOR_DESC TENSOR GRAPH NAMED_ATTRS DATA_TYPE'.split()
unk=collections.Counter()
def num(k,v):
    if k=='bool':return bool(v)
    if k=='u32':return v
    if k in('dtype','vt','i64'):return s64(v)
def parse(b,msg):
    o={};p=0;sch=SCH[msg]
    while p<len(b):
        t,p=varint(b,p);n,w=t>>3,t&7
        if w==0:v,p=varint(b,p)
        elif w==1:v=b[p:p+8];p+=8
        elif w==5:v=b[p:p+4];p+=4
        elif w==2:
            l,p=varint(b,p)
            if p+l>len(b):raise ValueError(f'{msg}.{n} overruns')
            v=b[p:p+l];p+=l
        else:raise ValueError(f'wire {w} in {msg} field {n}')
        if n not in sch:unk[(msg,n,w)]+=1;continue
        name,k,rep=sch[n]
        if k=='skip':unk[(msg,name,w)]+=1;continue
        if k=='str':vals=[v.decode('utf8','backslashreplace')]
        elif k=='bytes':vals=[bytes(v)]
        elif k=='map':vals=[parse(v,'Entry')]
        elif k=='f32':
            vals=list(struct.unpack('<%df'%(len(v)//4),v))
        elif k in('bool','i64','u32','dtype','vt'):
            if w==2:
                vals=[];q=0
                while q<len(v):
                    x,q=varint(v,q);vals.append(num(k,x))
            else:vals=[num(k,v)]
        else:vals=[parse(v,k)]
        if rep:o.setdefault(name,[]).extend(vals)
        else:o[name]=vals[-1]
    return o
def header(d):
    h=dict(magic=d[:4],headsize=struct.unpack_from('<I',d,4)[0],version=struct.unpack_from('<I',d,8)[0],checksum=d[12:76],length=struct.unpack_from('<I',d,76)[0])
    h['enc'],h['chk'],h['modeltype'],h['genmode']=d[80:84]
    h['name']=d[84:116];h['ops']=struct.unpack_from('<I',d,116)[0];h['udi']=d[120:152];h['om_ir_version']=struct.unpack_from('<I',d,152)[0]
    if h['version']>=0x20000000:
        h['model_num'],=struct.unpack_from('<I',d,156);h['platform']=d[160:180].rstrip(b'\0');h['ptype']=d[180];h['model_length'],=struct.unpack_from('<Q',d,184);h['oscpu'],h['dyn']=d[192],d[193];h['rest']=d[194:256].rstrip(b'\0')
    else:
        h['model_num']=1;h['platform']=d[156:176].rstrip(b'\0');h['ptype']=d[176];h['model_length']=0;h['rest']=d[177:256].rstrip(b'\0')
    return h
def tables(d,h,off=None):
    wide=h['modeltype']==3 or h['model_length']!=0
    p=h['headsize'];end=p+(h['model_length'] or h['length']);res=[]
    for m in range(max(1,h['model_num'])):
        n,=struct.unpack_from('<I',d,p);q=p+(8 if wide else 4);parts=[]
        for i in range(n):
            if wide: t,o,s=struct.unpack_from('<I4xQQ',d,q);q+=24
            else: t,o,s=struct.unpack_from('<III',d,q);q+=12
            parts.append([t,o,s])
        cur=q
        for x in parts:
            x.append(cur);x.append(x[3]-q==x[1]);cur+=x[2]
        res.append(parts);p=cur
    return wide,res,p,end
def attrs(l): return {e['key']:e.get('value',{}) for e in (l or [])}
def dekey(k):
    return sum((c-1)*127**i for i,c in enumerate(k[1:]))
def undict(m):
    a=attrs(m.get('attr'))
    if a.get(b'om_compress_version',{}).get('i')!=1:return False
    L=lambda k,f:a[k]['list'].get(f,[])
    names=L(b'attr_name_enum','s');vals=L(b'attr_value_enum','s');use=L(b'attrs_use_string_value','b')
    def walk(x):
        if isinstance(x,list):
            for y in x:walk(y)
        elif isinstance(x,dict):
            if isinstance(x.get('key'),bytes) and x['key'][:1]==b'\0':
                i=dekey(x['key']);x['key']=names[i]
                v=x.get('value',{})
                if use[i]:
                    if 'i' in v:v['s']=vals[v.pop('i')]
                    if 'list' in v:
                        if 'i' in v['list']:v['list']['s']=[vals[j] for j in v['list'].pop('i')]
                        if 'val_type' in v['list']:v['list']['val_type']=1
            for y in x.values():walk(y)
    walk(m['graph'])
    m['attr']=[e for e in m['attr'] if e['key'] not in(b'om_compress_version',b'attr_name_enum',b'attr_value_enum',b'attrs_use_string_value')]
    return True
BLACK={'output','data_offset','data','workspace','workspace_bytes','memory_size','weight_size','size','bt','quantize_factor'}
ESCAPE = False   # True: single byte strings as current atc writes them (C escapes); older ones write them plain
def cesc(b):
    if not ESCAPE: return b.decode("utf8", "backslashreplace")
    r=''
    for c in b:
        if c==10:r+='\\n'
        elif c==13:r+='\\r'
        elif c==9:r+='\\t'
        elif c in(34,39,92):r+='\\'+chr(c)
        elif 32<=c<127:r+=chr(c)
        else:r+='\\%03o'%c
    return r
def f32txt(f):
    s='%g'%f
    return s if len(s)<=9 else f
ONEOF={'AttrDef','Entry'}
def tojson(o,msg):
    if not o:return None
    r={}
    for n,(name,k,rep) in SCH[msg].items():
        if name in BLACK or name not in o:continue
        v=o[name]
        def one(x,inrep):
            if k=='map':return tojson(x,'Entry')
            if k=='bytes':
                if inrep or msg=='Entry':return x.decode('utf8','backslashreplace')
                return cesc(x)
            if k=='f32':return x if inrep else f32txt(x)
            if k=='dtype':return 'DT_'+DT[x]
            if k=='vt':return 'VT_LIST_'+VT[x]
            if k in SCH:return tojson(x,k)
            return x
        if rep:
            if v:r[name]=[one(x,1) for x in v]
        else:
            if k in SCH:
                j=one(v,0)
                if j is not None:r[name]=j
            elif msg=='AttrDef' or v:r[name]=one(v,0)
    return r
def load(fn,model=0):
    d=open(fn,'rb').read();h=header(d);wide,res,p,end=tables(d,h)
    t=[x for x in res[model] if x[0]==0][0]
    m=parse(d[t[3]:t[3]+t[2]],'ModelDef')
    return d,h,wide,res,p,end,m
if __name__=='__main__':
    for fn in sys.argv[1:]:
        unk.clear()
        d,h,wide,res,p,end,m=load(fn)
        print('==',fn.split('/')[-1],len(d),{k:(v if not isinstance(v,bytes) else v.rstrip(b'\0')) for k,v in h.items() if v not in(b'',0)})
        print('  wide',wide,'walk_end',p,'hdr_end',end,'file',len(d),'models',len(res))
        for r in res[:3]:print('   parts',[(x[0],x[2],'offs_ok' if x[4] else ('OFF',x[1])) for x in r])
        c=undict(m);print('  compressed',c,'graphs',[(g.get('name'),len(g.get('op',[]))) for g in m['graph']][:6])
        for k,v in attrs(m.get('attr')).items():
            s=str(v);print('    model attr',k,s[:120] if k not in(b'fm',) else len(s))
        ac=collections.Counter();oc=collections.Counter();ty=collections.Counter()
        for g in m['graph']:
            for op in g.get('op',[]):
                ty[op.get('type')]+=1
                for e in op.get('attr',[]):ac[e['key']]+=1
                for t in op.get('output_desc',[]):
                    for e in t.get('attr',[]):oc[e['key']]+=1
        print('  types',ty.most_common(12))
        print('  opattrs',[(k.decode(),v) for k,v in ac.items() if b'dump' in k or b'L1' in k or b'original' in k or k in(b'scale',b'offset')])
        print('  outattrs',[(k.decode('utf8','replace'),v) for k,v in oc.items()])
        print('  unknown',dict(unk))
