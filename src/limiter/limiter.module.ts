import { Module } from '@nestjs/common';
import { LimiterService } from './limiter.service.js';

/** Needs LIMITER_OPTIONS and CLOCK from global modules. */
@Module({ providers: [LimiterService], exports: [LimiterService] })
export class LimiterModule {}
