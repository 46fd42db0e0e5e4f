/* The results of libipt for a trace, as lines of text.
 *
 *     driver packets TRACE              each packet, from the first PSB on
 *     driver encode TRACE OUT           the same packets, written by libipt's encoder
 *     driver insns TRACE CODE ADDRESS…  the IP of each instruction
 *     driver times TRACE MTC EAX EBX NOMINAL
 *                                     the time of each branch, with the fields of the configuration:
 *                                     the MTC frequency, CPUID leaf 0x15, the nominal frequency
 *     driver time TRACE CODE ADDRESS…  for each line of the input, CPU seconds and the number of
 *                                     0: packets decoded, 1: packets written, 2: instructions
 *                                     decoded by the instruction decoder, 3: by the block decoder
 * A line "error" stands for bytes that libipt cannot decode. It continues at the next PSB.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <intel-pt.h>

static void fail(const char *what)
{
	fprintf(stderr, "driver: %s\n", what);
	exit(2);
}

static uint8_t *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes;

	if (!file || fseek(file, 0, SEEK_END))
		fail(path);
	*size = (size_t) ftell(file);
	rewind(file);
	bytes = malloc(*size + 1);
	if (!bytes || fread(bytes, 1, *size, file) != *size)
		fail(path);
	fclose(file);
	return bytes;
}

static struct pt_config config_of(const char *path)
{
	struct pt_config config;
	size_t size;

	pt_config_init(&config);
	config.begin = read_file(path, &size);
	config.end = config.begin + size;
	return config;
}

static void print_ip(const char *name, const struct pt_packet_ip *ip)
{
	printf("%s %d %" PRIx64 "\n", name, ip->ipc, ip->ip);
}

static void print_mode(const struct pt_packet_mode *mode)
{
	if (mode->leaf == pt_mol_exec)
		printf("exec %d %d\n", mode->bits.exec.csl, mode->bits.exec.csd);
	else
		printf("tsx %d %d\n", mode->bits.tsx.intx, mode->bits.tsx.abrt);
}

static void print_power(const struct pt_packet *packet)
{
	switch (packet->type) {
	case ppt_exstop:
		printf("exstop %d\n", packet->payload.exstop.ip);
		break;
	case ppt_mwait:
		printf("mwait %x %x\n", packet->payload.mwait.hints, packet->payload.mwait.ext);
		break;
	case ppt_pwre: /* Its bit "hw" is omitted: libipt 2.0 reads bit 3, the manual has bit 7. */
		printf("pwre %x %x\n", packet->payload.pwre.state, packet->payload.pwre.sub_state);
		break;
	case ppt_pwrx:
		printf("pwrx %x %x %d %d %d\n", packet->payload.pwrx.last,
		       packet->payload.pwrx.deepest, packet->payload.pwrx.interrupt,
		       packet->payload.pwrx.store, packet->payload.pwrx.autonomous);
		break;
	case ppt_ptw:
		printf("ptw %d %" PRIx64 " %d\n", packet->payload.ptw.plc,
		       packet->payload.ptw.payload, packet->payload.ptw.ip);
		break;
	default:
		fail("a packet of an unknown type");
	}
}

static void print_packet(const struct pt_packet *packet)
{
	switch (packet->type) {
	case ppt_pad:
		printf("pad\n");
		break;
	case ppt_psb:
		printf("psb\n");
		break;
	case ppt_psbend:
		printf("psbend\n");
		break;
	case ppt_ovf:
		printf("ovf\n");
		break;
	case ppt_stop:
		printf("stop\n");
		break;
	case ppt_fup:
		print_ip("fup", &packet->payload.ip);
		break;
	case ppt_tip:
		print_ip("tip", &packet->payload.ip);
		break;
	case ppt_tip_pge:
		print_ip("pge", &packet->payload.ip);
		break;
	case ppt_tip_pgd:
		print_ip("pgd", &packet->payload.ip);
		break;
	case ppt_tnt_8:
		printf("tnt %d %" PRIx64 "\n", packet->payload.tnt.bit_size,
		       packet->payload.tnt.payload);
		break;
	case ppt_tnt_64:
		printf("longtnt %d %" PRIx64 "\n", packet->payload.tnt.bit_size,
		       packet->payload.tnt.payload);
		break;
	case ppt_mode:
		print_mode(&packet->payload.mode);
		break;
	case ppt_pip:
		printf("pip %" PRIx64 " %d\n", packet->payload.pip.cr3, packet->payload.pip.nr);
		break;
	case ppt_vmcs:
		printf("vmcs %" PRIx64 "\n", packet->payload.vmcs.base);
		break;
	case ppt_cbr:
		printf("cbr %x\n", packet->payload.cbr.ratio);
		break;
	case ppt_tsc:
		printf("tsc %" PRIx64 "\n", packet->payload.tsc.tsc);
		break;
	case ppt_tma:
		printf("tma %x %x\n", packet->payload.tma.ctc, packet->payload.tma.fc);
		break;
	case ppt_mtc:
		printf("mtc %x\n", packet->payload.mtc.ctc);
		break;
	case ppt_cyc:
		printf("cyc %" PRIx64 "\n", packet->payload.cyc.value);
		break;
	case ppt_mnt:
		printf("mnt %" PRIx64 "\n", packet->payload.mnt.payload);
		break;
	default:
		print_power(packet);
	}
}

static void packets(const char *trace)
{
	struct pt_config config = config_of(trace);
	struct pt_packet_decoder *decoder = pt_pkt_alloc_decoder(&config);
	struct pt_packet packet;
	uint64_t offset;

	while (pt_pkt_sync_forward(decoder) >= 0) {
		for (;;) {
			int status;

			pt_pkt_get_offset(decoder, &offset);
			status = pt_pkt_next(decoder, &packet, sizeof(packet));
			if (status == -pte_eos && config.begin + offset == config.end)
				break;
			printf("%" PRIx64 " ", offset);
			if (status < 0) {
				printf("error\n");
				break;
			}
			print_packet(&packet);
		}
	}
	pt_pkt_free_decoder(decoder);
}

static void encode(const char *trace, const char *out)
{
	struct pt_config config = config_of(trace), target = config;
	struct pt_packet_decoder *decoder = pt_pkt_alloc_decoder(&config);
	struct pt_packet packet;
	struct pt_encoder *encoder;
	FILE *file = fopen(out, "wb");
	uint64_t size;

	target.begin = malloc((size_t) (config.end - config.begin));
	target.end = target.begin + (config.end - config.begin);
	encoder = pt_alloc_encoder(&target);
	if (pt_pkt_sync_forward(decoder) < 0)
		fail("no PSB");
	while (pt_pkt_next(decoder, &packet, sizeof(packet)) >= 0)
		if (pt_enc_next(encoder, &packet) < 0)
			fail("a packet that libipt cannot write");
	pt_enc_get_offset(encoder, &size);
	fwrite(target.begin, 1, size, file);
	fclose(file);
}

static int drain_events(struct pt_insn_decoder *decoder, int status)
{
	struct pt_event event;

	while (status >= 0 && (status & pts_event_pending))
		status = pt_insn_event(decoder, &event, sizeof(event));
	return status;
}

static uint64_t instructions(struct pt_insn_decoder *decoder, int print)
{
	uint64_t count = 0;

	for (;;) {
		int status = pt_insn_sync_forward(decoder);

		if (status < 0)
			return count;
		for (;;) {
			struct pt_insn insn;

			status = drain_events(decoder, status);
			if (status < 0 || (status & pts_eos))
				break;
			status = pt_insn_next(decoder, &insn, sizeof(insn));
			/* An instruction of no class was not decoded. */
			if (insn.iclass != ptic_error) {
				count += 1;
				if (print)
					printf("%" PRIx64 "\n", insn.ip);
			}
			if (status < 0)
				break;
		}
		if (status < 0 && status != -pte_eos && print)
			printf("error %s\n", pt_errstr(pt_errcode(status)));
	}
}

/* The code is pairs of a file and its address, up to a null pointer. Without the cache, libipt maps
 * a file and decodes its code again each time that execution comes from another one.
 */
static void add_code(struct pt_image *image, char **code)
{
	struct pt_image_section_cache *cache = pt_iscache_alloc(NULL);

	if (!cache || pt_iscache_set_limit(cache, UINT64_C(1) << 30) < 0)
		fail("no cache");
	for (; code[0] && code[1]; code += 2) {
		size_t size;
		int section;

		free(read_file(code[0], &size));
		section = pt_iscache_add_file(cache, code[0], 0, size, strtoull(code[1], NULL, 16));
		if (section < 0 || pt_image_add_cached(image, cache, section, NULL) < 0)
			fail("no image");
	}
}

static struct pt_insn_decoder *insn_decoder(struct pt_config *config, char **code)
{
	struct pt_insn_decoder *decoder = pt_insn_alloc_decoder(config);

	add_code(pt_insn_get_image(decoder), code);
	return decoder;
}

static int drain_block_events(struct pt_block_decoder *decoder, int status)
{
	struct pt_event event;

	while (status >= 0 && (status & pts_event_pending))
		status = pt_blk_event(decoder, &event, sizeof(event));
	return status;
}

static uint64_t block_instructions(struct pt_block_decoder *decoder)
{
	uint64_t count = 0;

	for (;;) {
		int status = pt_blk_sync_forward(decoder);

		if (status < 0)
			return count;
		for (;;) {
			struct pt_block block;

			status = drain_block_events(decoder, status);
			if (status < 0 || (status & pts_eos))
				break;
			status = pt_blk_next(decoder, &block, sizeof(block));
			count += block.ninsn;
			if (status < 0)
				break;
		}
	}
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

static void report(double start, uint64_t count)
{
	printf("%.9f %" PRIu64 "\n", seconds() - start, count);
	fflush(stdout);
}

static void time_packets(struct pt_config *config)
{
	struct pt_packet_decoder *decoder = pt_pkt_alloc_decoder(config);
	struct pt_packet packet;
	double start = seconds();
	uint64_t count = 0;

	pt_pkt_sync_forward(decoder);
	while (pt_pkt_next(decoder, &packet, sizeof(packet)) >= 0)
		count += 1;
	report(start, count);
	pt_pkt_free_decoder(decoder);
}

static void time_encoder(struct pt_config *config)
{
	size_t size = (size_t) (config->end - config->begin);
	struct pt_packet *packets = malloc(size * sizeof(*packets));
	struct pt_packet_decoder *decoder = pt_pkt_alloc_decoder(config);
	struct pt_config target = *config;
	struct pt_encoder *encoder;
	uint64_t count = 0, at;
	double start;

	pt_pkt_sync_forward(decoder);
	while (pt_pkt_next(decoder, &packets[count], sizeof(*packets)) >= 0)
		count += 1;
	target.begin = malloc(size);
	target.end = target.begin + size;
	encoder = pt_alloc_encoder(&target);
	start = seconds();
	for (at = 0; at < count; at++)
		if (pt_enc_next(encoder, &packets[at]) < 0)
			fail("a packet that libipt cannot write");
	report(start, count);
	pt_free_encoder(encoder);
	pt_pkt_free_decoder(decoder);
	free(target.begin);
	free(packets);
}

static void time_insns(struct pt_config *config, char **code)
{
	struct pt_insn_decoder *decoder = insn_decoder(config, code);
	double start = seconds();

	report(start, instructions(decoder, 0));
	pt_insn_free_decoder(decoder);
}

static void time_blocks(struct pt_config *config, char **code)
{
	struct pt_block_decoder *decoder = pt_blk_alloc_decoder(config);
	double start;

	add_code(pt_blk_get_image(decoder), code);
	start = seconds();
	report(start, block_instructions(decoder));
	pt_blk_free_decoder(decoder);
}

static void time_parts(const char *trace, char **code)
{
	struct pt_config config = config_of(trace);
	int part;

	while (scanf("%d", &part) == 1) {
		if (part == 0)
			time_packets(&config);
		else if (part == 1)
			time_encoder(&config);
		else if (part == 2)
			time_insns(&config, code);
		else
			time_blocks(&config, code);
	}
}

static int drain_query_events(struct pt_query_decoder *decoder, int status)
{
	struct pt_event event;

	while (status >= 0 && (status & pts_event_pending))
		status = pt_qry_event(decoder, &event, sizeof(event));
	return status;
}

static void times(char **arguments)
{
	struct pt_config config = config_of(arguments[0]);
	struct pt_query_decoder *decoder;
	uint64_t ip, tsc;
	int status;

	config.mtc_freq = (uint8_t) atoi(arguments[1]);
	config.cpuid_0x15_eax = (uint32_t) atoi(arguments[2]);
	config.cpuid_0x15_ebx = (uint32_t) atoi(arguments[3]);
	config.nom_freq = (uint8_t) atoi(arguments[4]);
	decoder = pt_qry_alloc_decoder(&config);
	status = pt_qry_sync_forward(decoder, &ip);
	for (;;) {
		char kind = 'c';
		int taken;

		status = drain_query_events(decoder, status);
		if (status < 0)
			break;
		status = pt_qry_cond_branch(decoder, &taken);
		if (status == -pte_bad_query) {
			kind = 'i';
			status = pt_qry_indirect_branch(decoder, &ip);
		}
		if (status < 0)
			break;
		if (pt_qry_time(decoder, &tsc, NULL, NULL) < 0)
			fail("no time");
		printf("%c %" PRIx64 "\n", kind, tsc);
	}
	if (status != -pte_eos)
		printf("error %s\n", pt_errstr(pt_errcode(status)));
	pt_qry_free_decoder(decoder);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "packets")) {
		packets(argv[2]);
	} else if (argc == 4 && !strcmp(argv[1], "encode")) {
		encode(argv[2], argv[3]);
	} else if (argc >= 5 && !strcmp(argv[1], "insns")) {
		struct pt_config config = config_of(argv[2]);
		struct pt_insn_decoder *decoder = insn_decoder(&config, argv + 3);

		instructions(decoder, 1);
		pt_insn_free_decoder(decoder);
	} else if (argc == 7 && !strcmp(argv[1], "times")) {
		times(argv + 2);
	} else if (argc >= 5 && !strcmp(argv[1], "time")) {
		time_parts(argv[2], argv + 3);
	} else {
		fail("unknown command");
	}
	return 0;
}
